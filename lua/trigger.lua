-- trigger: tasks of a schedule that somebody asks for beside its ticks: now, or for planned instants of the past.
--
-- KEYS  1 schedules, 2 records, 3 runs, 4 timetable, 5 counts, 6 bands, 7 seq, 8 armed, 9 notify, 10 followers,
--       11 schedule, 12 history, 13 backfilled, 14 ready, 15 wake, 16 claims; then the key of the result of each task
-- ARGV  1 now in ms, 2 schedule's name, 3 its definition hash, 4 what: "triggered" or "backfilled", 5 overlap ("allow",
--       else they line up behind the run that goes on), 6 forced: "1" to repeat what has run before; then for each
--       task three: planned instant, id, record
-- Output  for each task: "ready", "blocked", "made" if this very call, known by the nonce of its record, has made it
--         before, or "there" if there is or was another; or -1 alone if any is still to be made, and the definition has
--         changed, or was removed, or is on its way to another shard
-- Cost  O(tasks given)
-- States  none -> ready, none -> blocked, done -> ready, done -> blocked, cancelled -> ready, cancelled -> blocked
--
-- An id that is used again, which has to be forced while its mark is there: as in schedule.lua.
-- Dies before: nothing is made. Dies after: the repeated call finds the tasks there, or their marks, or their instants
-- among those that were backfilled, whatever has become of the schedule meanwhile.

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
local is_gone = not stored or stored:sub(1, #hash) ~= hash or standing == "removed" or moved

local function nonce_of(text)
    return select(5, header(text or ""))
end

-- What there is of a task already: "made" by this call, "there", or nil.
local function found(planned, id, record)
    local nonce, text, mark = nonce_of(record), redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = not text and mark and run_parts(mark)
    if nonce ~= "" and nonce == (run and run.nonce or nonce_of(text)) then
        return "made"
    end
    local is_there = text or not forced
        and (mark or what == "backfilled" and redis.call("ZSCORE", keys.backfilled, planned))
    return is_there and "there" or nil
end

local function make_anew(planned, id, record, result)
    local before = redis.call("HGET", keys.runs, id)
    take_id(keys, id, before and run_parts(before), result)
    local behind = ARGV[5] ~= "allow" and last_run(keys, name)
    local made = make(keys, name, now, id, record, behind)
    note(keys, {what = what, id = id, at = now, planned = tonumber(planned), blocked = made == "blocked" or nil})
    if what == "backfilled" then
        redis.call("ZADD", keys.backfilled, planned, planned)
    end
    redis.call("HSET", keys.schedule, "task", id)
    return made
end

local answers = {}
for i = 7, #ARGV, 3 do
    local planned, id, record = ARGV[i], ARGV[i + 1], ARGV[i + 2]
    local answer = found(planned, id, record)
    if is_gone and not answer then
        -- Before anything is written: a call is done as a whole, so a repeated one meets none such.
        return {-1}
    end
    answers[#answers + 1] = answer or make_anew(planned, id, record, KEYS[14 + (i + 2) / 3])
end
redis.call("ZREMRANGEBYRANK", keys.backfilled, 0, -BACKFILLED - 1)
return answers
