-- put_off: a tick that a scheduler cannot read the definition of, and that nobody else has fired, makes way.
--
-- KEYS  1 timetable, 2 schedules, 3 armed, 4 schedule
-- ARGV  1 now in ms, 2 name, 3 instant of its tick in the timetable, 4 definition hash that was found unreadable, 5 the
--       reason
-- Output  {1 put off, 0 somebody has fired, edited or removed it meanwhile; head of the timetable}
-- Cost  O(1)
-- States  unchanged
--
-- Left at the head it would hide what comes behind it. It is put off by as long as it has been due, from a minute to an
-- hour, and is due again for whoever can read it by then; so long the schedule counts as invalid. Dies before: the next
-- scheduler that cannot read it does the same. Dies after: the repeated call answers 0.

-- include: expect
-- include: head

local LEAST, MOST = 60000, 3600000
local keys = {timetable = KEYS[1], schedules = KEYS[2], armed = KEYS[3], schedule = KEYS[4]}
local now, name, due, hash = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
expect(now and due and #KEYS == 4 and #ARGV == 5)
local stored = redis.call("HGET", keys.schedules, name)
local score = redis.call("ZSCORE", keys.timetable, "t" .. name)
local instant = score and math.max(0, math.floor(tonumber(score))) or -1
if instant ~= due or due > now or stored and stored:sub(1, #hash) ~= hash then
    return {0, head(keys)}
elseif not stored then
    redis.call("ZREM", keys.timetable, "t" .. name)
    return {1, head(keys)}
end
local first = tonumber(redis.call("HGET", keys.schedule, "put_off")) or due
redis.call("HSET", keys.schedule, "state", "invalid", "reason", ARGV[5], "put_off", string.format("%.0f", first))
redis.call("ZADD", keys.timetable, now + math.min(math.max(now - first, LEAST), MOST), "t" .. name)
return {1, head(keys)}
