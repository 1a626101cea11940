-- disarm: a schedule whose definition nobody can use gets no more ticks, until it is edited.
--
-- KEYS  1 timetable, 2 schedules
-- ARGV  1 name, 2 definition hash that was found unusable
-- Output  1 disarmed, 0 it has been edited or removed meanwhile
-- Cost  O(1)
--
-- Dies before: the next scheduler finds the same. Dies after: the schedule stays listed, as invalid.

-- include: expect

expect(#KEYS == 2 and #ARGV == 2)
local stored = redis.call("HGET", KEYS[2], ARGV[1])
if stored and stored:sub(1, #ARGV[2]) ~= ARGV[2] then
    return 0
end
return redis.call("ZREM", KEYS[1], "t" .. ARGV[1])
