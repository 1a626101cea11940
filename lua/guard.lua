-- guard: replaces a wake token that somebody took without reserving, by several.
--
-- KEYS  1 timetable, 2 counts, 3 armed, 4 notify; then the wake list of each queue
-- ARGV  1 now in ms; then the name of each queue
-- Output  head of the timetable
-- Cost  O(queues given)
-- States  unchanged
--
-- A token that still lies in its list needs no guard: nobody is waiting, and whoever comes to wait reserves first. Dies
-- before: the guard is still due for the next scheduler. Dies after: token and guard are in place.

-- include: expect
-- include: arm
-- include: ready
-- include: head

local keys = {timetable = KEYS[1], counts = KEYS[2], armed = KEYS[3], notify = KEYS[4]}
local now = tonumber(ARGV[1])
-- So many at once, since a host that dies without a word leaves its blocked workers first in line for the next ones.
local TOKENS = {"1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1", "1"}
expect(now and #KEYS == 3 + #ARGV)

for i = 2, #ARGV do
    local queue, wake = ARGV[i], KEYS[3 + i]
    local due = tonumber(redis.call("ZSCORE", keys.timetable, "g" .. queue) or math.huge)
    if due <= now then
        redis.call("ZREM", keys.timetable, "g" .. queue)
        local waiting = tonumber(redis.call("HGET", keys.counts, queue .. ":ready")) or 0
        if waiting > 0 and redis.call("EXISTS", wake) == 0 then
            redis.call("RPUSH", wake, unpack(TOKENS))
            wake_one(keys, queue, wake, now)
        end
    end
end
return head(keys)
