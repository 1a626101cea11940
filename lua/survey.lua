-- survey: what comes next, and where a scheduler's reading of the notify list starts.
--
-- KEYS  1 timetable, 2 armed, 3 notify
-- ARGV  none
-- Output  {id of the last notification or "0-0", head of the timetable}
-- Cost  O(64 members)
-- States  unchanged
--
-- Dies after: schedulers count as armed for an instant that this one will miss; each of the others is armed for it too,
-- or for an earlier one, after which it looks itself.

-- include: expect
-- include: head

local keys = {timetable = KEYS[1], armed = KEYS[2], notify = KEYS[3]}
expect(#KEYS == 3 and #ARGV == 0)
local last = redis.call("XREVRANGE", keys.notify, "+", "-", "COUNT", 1)
return {last[1] and last[1][1] or "0-0", head(keys)}
