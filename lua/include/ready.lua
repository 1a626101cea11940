-- How long a wake token may have been taken without anybody reserving, before a scheduler looks after it.
local GUARD_MS = 500

-- Notes that a band of a queue may hold ready tasks.
local function mark_band(keys, queue, band)
    local mask = tonumber(redis.call("HGET", keys.bands, queue)) or 0
    local marked = bit.bor(mask, bit.lshift(1, band))
    if marked ~= mask then
        redis.call("HSET", keys.bands, queue, marked)
    end
end

-- Wakes one worker that waits for the queue: one token, however many tasks; who reserves passes it on while
-- tasks are left. The guard in the timetable replaces a token that somebody took and died with.
local function wake_one(keys, queue, wake, now)
    if redis.call("EXISTS", wake) == 0 then
        redis.call("RPUSH", wake, "1")
    end
    if redis.call("ZADD", keys.timetable, "NX", now + GUARD_MS, "g" .. queue) == 1 then
        arm(keys, now + GUARD_MS)
    end
end
