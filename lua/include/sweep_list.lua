-- Gives back the memory of cancelled entries of a page or bucket: a few entries move from the head to the tail or
-- vanish, so that cancelled ones stay fewer than the live: each cancel pays for its own, in constant time.
--
-- Each entry is looked at before it goes. The stale count alone may be too high: beside a bucket that is due and not
-- yet promoted there may be ready tasks of the same instant, and a cancel cannot tell them from those in the bucket. It
-- counts them here, as delayed; promote.lua sets that right by the same number, and so does this, where the list ends.
local SWEPT, SWEPT_AT_END = 8, 64

local function sweep_list(keys, list, name, queue)
    local stale = redis.call("HINCRBY", keys.stale, name, 1)
    local length = redis.call("LLEN", list)
    if stale < SWEPT and stale < length then
        return
    end
    local popped = length > 0 and redis.call("LPOP", list, stale < length and SWEPT or SWEPT_AT_END) or {}
    local swept = 0
    for _, text in ipairs(popped) do
        local id, placement = entry_parts(text)
        local record = redis.call("HGET", keys.records, id)
        if record and select(4, header(record)) == placement then
            redis.call("RPUSH", list, text)
        else
            swept = swept + 1
        end
    end
    stale = stale - swept
    if swept == length then
        redis.call("ZREM", keys.timetable, name)
        if stale ~= 0 then
            redis.call("HINCRBY", keys.counts, queue .. ":delayed", stale)
            redis.call("HINCRBY", keys.counts, queue .. ":ready", -stale)
        end
    end
    if swept == length or stale <= 0 then
        redis.call("HDEL", keys.stale, name)
    elseif swept > 0 then
        redis.call("HSET", keys.stale, name, stale)
    end
end
