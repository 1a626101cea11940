-- fire: one tick of a schedule becomes one task, and the next tick takes its place, in one step.
--
-- KEYS  1 timetable, 2 schedules, 3 records, 4 runs, 5 counts, 6 bands, 7 seq, 8 armed, 9 notify, 10 ready list,
--       11 wake list
-- ARGV  1 now in ms, 2 schedule's name, 3 its planned instant in ms, 4 its definition hash, 5 next instant in ms or ""
--       for none, 6 id of the task, 7 record
-- Output  {1 fired, 0 somebody else was first or the definition has changed; head of the timetable}
-- Cost  O(1)
--
-- The planned instant is compared and replaced here, so one of several schedulers fires, and a repeated call does not.
-- Dies before: the tick is still due for the next scheduler. Dies after: task and next tick are both there.

-- include: expect
-- include: record
-- include: entry
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: head

local keys = {timetable = KEYS[1], schedules = KEYS[2], records = KEYS[3], runs = KEYS[4], counts = KEYS[5],
    bands = KEYS[6], seq = KEYS[7], armed = KEYS[8], notify = KEYS[9]}
local now, name, planned, next_tick = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[5])
local member = "t" .. name
expect(now and planned and #KEYS == 11 and #ARGV == 7 and (next_tick or ARGV[5] == ""))

local function create(id, record)
    if redis.call("HEXISTS", keys.runs, id) == 1 or redis.call("HEXISTS", keys.records, id) == 1 then
        return
    end
    local due, band, queue = header(record)
    local seq = redis.call("INCR", keys.seq) % 4294967296
    redis.call("HSET", keys.records, id, record:sub(1, 1) .. struct.pack(">I4", seq) .. record:sub(6))
    local state = place(keys, {ready = KEYS[10], wake = KEYS[11]}, now, due, band, queue, id, seq)
    redis.call("HINCRBY", keys.counts, queue .. ":" .. state, 1)
end

local stored = redis.call("HGET", keys.schedules, name)
-- A score that no oncue has written, negative or broken, reads as the caller reads it.
local score = redis.call("ZSCORE", keys.timetable, member)
local due = score and math.max(0, math.floor(tonumber(score))) or -1
if due ~= planned or planned > now or not stored or stored:sub(1, #ARGV[4]) ~= ARGV[4] then
    if due >= 0 and not stored then
        redis.call("ZREM", keys.timetable, member)
    end
    return {0, head(keys)}
end
create(ARGV[6], ARGV[7])
if next_tick then
    redis.call("ZADD", keys.timetable, next_tick, member)
    arm(keys, next_tick)
else
    redis.call("ZREM", keys.timetable, member)
end
return {1, head(keys)}
