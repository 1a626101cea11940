-- resume: a paused schedule goes on with its next tick; what it has skipped is written down, also if it stays paused.
--
-- KEYS  1 timetable, 2 schedules, 3 records, 4 runs, 5 followers, 6 armed, 7 notify, 8 schedule, 9 history
-- ARGV  1 now in ms, 2 name, 3 its definition hash, 4 next planned instant in ms or "" for none, 5 the instant in the
--       timetable for that, 6 every: how many ms after the end of a run the next tick comes, or "", 7 stay: "1" if it
--       stays paused; then for each skipped tick or stretch of them three: first and last planned instant, how many
-- Output  1 resumed, or written down, 0 it is not paused, -1 it is not there or has been edited meanwhile
-- Cost  O(stretches given)
-- States  unchanged
--
-- Dies before: it is still paused. Dies after: it is active; the repeated call answers 0.

-- include: expect
-- include: run
-- include: arm
-- include: flight
-- include: follow
-- include: tick
-- include: note

local keys = {timetable = KEYS[1], schedules = KEYS[2], records = KEYS[3], runs = KEYS[4], followers = KEYS[5],
    armed = KEYS[6], notify = KEYS[7], schedule = KEYS[8], history = KEYS[9]}
local now, name, hash = tonumber(ARGV[1]), ARGV[2], ARGV[3]
expect(now and #KEYS == 9 and #ARGV >= 7 and #ARGV % 3 == 1 and (tonumber(ARGV[4]) or ARGV[4] == ""))
for i = 5, #ARGV do
    expect(tonumber(ARGV[i]) or i < 8 and ARGV[i] == "")
end
local stored = redis.call("HGET", keys.schedules, name)
if not stored or stored:sub(1, #hash) ~= hash then
    return -1
end
if redis.call("HGET", keys.schedule, "state") ~= "paused" then
    return 0
end
for i = 8, #ARGV, 3 do
    redis.call("HSET", keys.schedule, "through", ARGV[i + 1])
    note(keys, stretch("skipped", "paused", now, tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])))
end
if ARGV[7] == "1" then
    redis.call("HSET", keys.schedule, "planned", ARGV[4])
    return 1
end
redis.call("HDEL", keys.schedule, "by", "why", "off")
redis.call("HSET", keys.schedule, "since", ARGV[1], "at", ARGV[1], "state",
    set_tick(keys, name, tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])))
return 1
