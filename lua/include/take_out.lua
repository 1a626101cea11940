-- Ready entries of no waiting task go from both ends of their list, where those stand that were scheduled and cancelled
-- at once, or one after the other; in between they stay until a worker passes, since ready keeps its order.
local STRIPPED = 8

local function strip(keys, list, index, pop)
    for _ = 1, STRIPPED do
        local text = redis.call("LINDEX", list, index)
        if not text or text:sub(1, 1) == "=" then
            return
        end
        local id, placement = entry_parts(text)
        local record = redis.call("HGET", keys.records, id)
        if record and select(4, header(record)) == placement then
            return
        end
        redis.call(pop, list)
    end
end

-- Takes the entry of a waiting task out of where it stands, as where.lua said; page, bucket: indexes in KEYS of these
-- lists, the bucket's followed by its ready list. Its record has gone, or has another placement number, before this is
-- called.
local function take_out(keys, stands, name, page, bucket, band, queue, id, seq)
    redis.call("HINCRBY", keys.counts, queue .. (stands == "ready" and ":ready" or ":delayed"), -1)
    if stands == "lone" then
        redis.call("ZREM", keys.timetable, lone_member(queue, band, id, seq))
    elseif stands ~= "ready" then
        sweep_list(keys, KEYS[stands == "page" and page or bucket], name, queue)
    elseif is_declared(bucket + 1, "ready:" .. queue .. ":" .. band) then
        strip(keys, KEYS[bucket + 1], -1, "RPOP")
        strip(keys, KEYS[bucket + 1], 0, "LPOP")
    end
end
