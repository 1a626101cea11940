-- pause: a schedule gets no ticks until it is resumed, whatever is edited or loaded meanwhile.
--
-- KEYS  1 timetable, 2 schedules, 3 followers, 4 schedule
-- ARGV  1 now in ms, 2 name, 3 who, 4 why
-- Output  the state that it is in now: "paused" (now or before), "finished", "invalid", "removed", "unknown"
-- Cost  O(1)
-- States  unchanged
--
-- The planned instant stays: from it on, ticks count as skipped when the schedule is resumed. Where the next tick
-- counts from the end of a run, none is kept; the next is in the timetable, or not known yet.
-- Dies before: it goes on. Dies after: it is paused; the repeated call answers the same.

-- include: expect
-- include: line
-- include: drop_tick

local keys = {timetable = KEYS[1], schedules = KEYS[2], followers = KEYS[3], schedule = KEYS[4]}
local now, name = tonumber(ARGV[1]), ARGV[2]
expect(now and #KEYS == 4 and #ARGV == 4)
if redis.call("HEXISTS", keys.schedules, name) == 0 then
    return "unknown"
end
local state = redis.call("HGET", keys.schedule, "state") or "active"
if state ~= "active" then
    return state
end
local tick = redis.call("ZSCORE", keys.timetable, "t" .. name)
local planned = tonumber(redis.call("HGET", keys.schedule, "planned"))
local through = tonumber(redis.call("HGET", keys.schedule, "through")) or 0
if not tick then
    redis.call("HDEL", keys.schedule, "planned")
elseif not planned or planned <= through then
    redis.call("HSET", keys.schedule, "planned", tick)
end
drop_tick(keys, name)
redis.call("HSET", keys.schedule, "state", "paused", "at", ARGV[1], "by", ARGV[3], "why", ARGV[4])
return "paused"
