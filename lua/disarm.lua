-- disarm: a schedule whose definition nobody can use gets no more ticks, until it is edited.
--
-- KEYS  1 timetable, 2 schedules, 3 followers, 4 schedule
-- ARGV  1 name, 2 definition hash that was found unusable, 3 the reason
-- Output  1 disarmed, 0 it has been edited or removed meanwhile
-- Cost  O(1)
-- States  unchanged
--
-- Dies before: the next scheduler finds the same. Dies after: the schedule stays listed, as invalid.

-- include: expect
-- include: drop_tick

local keys = {timetable = KEYS[1], schedules = KEYS[2], followers = KEYS[3], schedule = KEYS[4]}
local name, hash = ARGV[1], ARGV[2]
expect(#KEYS == 4 and #ARGV == 3)
local stored = redis.call("HGET", keys.schedules, name)
if stored and stored:sub(1, #hash) ~= hash then
    return 0
end
drop_tick(keys, name)
if stored then
    redis.call("HSET", keys.schedule, "state", "invalid", "reason", ARGV[3])
end
return 1
