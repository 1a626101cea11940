-- put_schedule: a schedule is created or edited; the same definition again changes nothing, its tick least of all.
--
-- KEYS  1 timetable, 2 schedules, 3 armed, 4 notify
-- ARGV  1 name, 2 definition hash, 3 definition (JSON), 4 next instant in ms, or "" for none
-- Output  1 created or edited, 0 it was there already
-- Cost  O(1)
--
-- Dies before: nothing has changed. Dies after: definition and tick are both there.

-- include: expect
-- include: arm

local keys = {timetable = KEYS[1], schedules = KEYS[2], armed = KEYS[3], notify = KEYS[4]}
expect(#KEYS == 4 and #ARGV == 4 and (ARGV[4] == "" or tonumber(ARGV[4])))
local stored = redis.call("HGET", keys.schedules, ARGV[1])
if stored and stored:sub(1, #ARGV[2]) == ARGV[2] then
    return 0
end
redis.call("HSET", keys.schedules, ARGV[1], ARGV[2] .. ARGV[3])
local tick = tonumber(ARGV[4])
if tick then
    redis.call("ZADD", keys.timetable, tick, "t" .. ARGV[1])
    arm(keys, tick)
else
    redis.call("ZREM", keys.timetable, "t" .. ARGV[1])
end
return 1
