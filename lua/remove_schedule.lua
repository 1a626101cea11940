-- remove_schedule: a schedule goes; tasks that it has made stay.
--
-- KEYS  1 timetable, 2 schedules
-- ARGV  1 name, 2 definition hash that the caller knows, or "" for whatever is there
-- Output  1 removed, 0 it was not there, or has been edited meanwhile
-- Cost  O(1)
--
-- Dies before: it is still there. Dies after: it is gone; the repeated call answers 0.

-- include: expect

expect(#KEYS == 2 and #ARGV == 2)
local stored = redis.call("HGET", KEYS[2], ARGV[1])
if not stored or stored:sub(1, #ARGV[2]) ~= ARGV[2] then
    return 0
end
redis.call("HDEL", KEYS[2], ARGV[1])
redis.call("ZREM", KEYS[1], "t" .. ARGV[1])
return 1
