-- resume: a paused schedule goes on with its next tick; what it has skipped is written down, also if it stays paused.
--
-- KEYS  1 timetable, 2 schedules, 3 records, 4 runs, 5 followers, 6 armed, 7 notify, 8 zones, 9 schedule, 10 history
-- ARGV  1 now in ms, 2 name, 3 its definition hash, 4 next planned instant in ms or "" for none, 5 the instant in the
--       timetable for that, 6 every: how many ms after the end of a run the next tick comes, or "", 7 stay: "1" if it
--       stays paused, 8 zone, 9 digest of its rules by which this is planned, 10 what a clock there shows at the last
--       skipped instant, and the zone, or "", 11 up to which instant it had been decided about its ticks when this was
--       planned ("through"), or ""; then for each skipped tick or stretch of them three: first and last planned
--       instant, how many
-- Output  1 resumed, or written down, 0 it is not paused, -1 it is not there, or has been edited meanwhile, or its
--         ticks have been decided about, -2 other rules of the zone are in force, and it has to be planned by those
-- Cost  O(stretches given)
-- States  unchanged
--
-- Dies before: it is still paused. Dies after: it is active; the repeated call answers 0, or -1 where it stays paused.

-- include: expect
-- include: run
-- include: arm
-- include: flight
-- include: line
-- include: last_run
-- include: tick
-- include: note
-- include: may_plan_by

local keys = {timetable = KEYS[1], schedules = KEYS[2], records = KEYS[3], runs = KEYS[4], followers = KEYS[5],
    armed = KEYS[6], notify = KEYS[7], zones = KEYS[8], schedule = KEYS[9], history = KEYS[10]}
local now, name, hash = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local stays, zone, rules, wall = ARGV[7] == "1", ARGV[8], ARGV[9], ARGV[10]
expect(now and #KEYS == 10 and #ARGV >= 11 and #ARGV % 3 == 2 and (tonumber(ARGV[4]) or ARGV[4] == ""))
expect((tonumber(ARGV[5]) or ARGV[5] == "") and (tonumber(ARGV[6]) or ARGV[6] == ""))
for i = 12, #ARGV do
    expect(tonumber(ARGV[i]))
end
local stored = redis.call("HGET", keys.schedules, name)
if not stored or stored:sub(1, #hash) ~= hash then
    return -1
end
if redis.call("HGET", keys.schedule, "state") ~= "paused" then
    return 0
elseif (redis.call("HGET", keys.schedule, "through") or "") ~= ARGV[11] then
    return -1
end
if not may_plan_by(keys, zone, rules) then
    return -2
end
for i = 12, #ARGV, 3 do
    redis.call("HSET", keys.schedule, "through", ARGV[i + 1])
    note(keys, stretch("skipped", "paused", now, tonumber(ARGV[i]), tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2])))
end
if wall ~= "" then
    redis.call("HSET", keys.schedule, "wall", wall)
end
redis.call("HSET", keys.schedule, "rules", rules)
if stays then
    redis.call("HSET", keys.schedule, "planned", ARGV[4])
    return 1
end
redis.call("HDEL", keys.schedule, "by", "why", "off")
redis.call("HSET", keys.schedule, "since", ARGV[1], "at", ARGV[1], "state",
    set_tick(keys, name, tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])))
return 1
