-- trigger: tasks of a schedule that somebody asks for beside its ticks: now, or for planned instants of the past.
--
-- KEYS  1 schedules, 2 records, 3 runs, 4 timetable, 5 counts, 6 bands, 7 seq, 8 armed, 9 notify, 10 followers,
--       11 schedule, 12 history, 13 backfilled, 14 ready, 15 wake, 16 claims; then the key of the result of each task
-- ARGV  1 now in ms, 2 schedule's name, 3 its definition hash, 4 what: "triggered" or "backfilled", 5 overlap ("allow",
--       else they line up behind the run that goes on), 6 forced: "1" to repeat what has run before; then for each
--       task three: planned instant, id, record
-- Output  for each task: "ready", "blocked", or "there" if there is or was one; or -1 alone if the definition has
--         changed, or was removed, or is on its way to another shard
-- Cost  O(tasks given)
-- States  none -> ready, none -> blocked, done -> ready, done -> blocked, cancelled -> ready, cancelled -> blocked
--
-- An id that is used again, which has to be forced while its mark is there: as in schedule.lua.
-- Dies before: nothing is made. Dies after: the repeated call finds the tasks there, or their marks, or their instants
-- among those that were backfilled.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: flight
-- include: line
-- include: make
-- include: last_run
-- include: note
-- include: declared
-- include: claim
-- include: take_id

local BACKFILLED = 10000
local keys = {schedules = KEYS[1], records = KEYS[2], runs = KEYS[3], timetable = KEYS[4], counts = KEYS[5],
    bands = KEYS[6], seq = KEYS[7], armed = KEYS[8], notify = KEYS[9], followers = KEYS[10], schedule = KEYS[11],
    history = KEYS[12], backfilled = KEYS[13], ready = KEYS[14], wake = KEYS[15], claims = KEYS[16]}
local now, name, hash, what, forced = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], ARGV[6] == "1"
expect(now and #ARGV >= 6 and #ARGV % 3 == 0 and #KEYS == 14 + #ARGV / 3
    and (what == "triggered" or what == "backfilled"))
for i = 7, #ARGV, 3 do
    expect(tonumber(ARGV[i]) and header(ARGV[i + 2]) and is_declared(14 + (i + 2) / 3, "result:" .. ARGV[i + 1]))
end
local stored = redis.call("HGET", keys.schedules, name)
local standing, moved = unpack(redis.call("HMGET", keys.schedule, "state", "moved"))
if not stored or stored:sub(1, #hash) ~= hash or standing == "removed" or moved then
    return {-1}
end

local function is_there(planned, id)
    if redis.call("HEXISTS", keys.records, id) == 1 then
        return true
    end
    return not forced and (redis.call("HEXISTS", keys.runs, id) == 1
        or redis.call("ZSCORE", keys.backfilled, planned))
end

local answers = {}
for i = 7, #ARGV, 3 do
    local planned, id = ARGV[i], ARGV[i + 1]
    local made = "there"
    if not is_there(planned, id) then
        local before = redis.call("HGET", keys.runs, id)
        take_id(keys, id, before and run_parts(before), KEYS[14 + (i + 2) / 3])
        local behind = ARGV[5] ~= "allow" and last_run(keys, name)
        made = make(keys, name, now, id, ARGV[i + 2], behind)
        note(keys, {what = what, id = id, at = now, planned = tonumber(planned), blocked = made == "blocked" or nil})
        if what == "backfilled" then
            redis.call("ZADD", keys.backfilled, planned, planned)
        end
        redis.call("HSET", keys.schedule, "task", id)
    end
    answers[#answers + 1] = made
end
redis.call("ZREMRANGEBYRANK", keys.backfilled, 0, -BACKFILLED - 1)
return answers
