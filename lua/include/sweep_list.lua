-- Gives back the memory of cancelled entries of a page or bucket. A list of nothing else goes at once; in another, a
-- few entries move from the head to the tail or vanish, so that cancelled ones stay fewer than the live: each cancel
-- pays for its own, in constant time.
local SWEPT = 8

local function sweep_list(keys, list, name)
    local stale = redis.call("HINCRBY", keys.stale, name, 1)
    if stale == redis.call("LLEN", list) then
        redis.call("UNLINK", list)
        redis.call("HDEL", keys.stale, name)
        redis.call("ZREM", keys.timetable, name)
        return
    end
    if stale < SWEPT then
        return
    end
    for _, text in ipairs(redis.call("LPOP", list, SWEPT)) do
        local id, placement = entry_parts(text)
        local record = redis.call("HGET", keys.records, id)
        local _, _, _, seq = header(record or struct.pack(">BI4I6BB", 0, 0, 0, 0, 0))
        if record and seq == placement then
            redis.call("RPUSH", list, text)
        else
            stale = redis.call("HINCRBY", keys.stale, name, -1)
        end
    end
    if stale == 0 then
        redis.call("HDEL", keys.stale, name)
    end
end
