-- How many entries of its history a schedule keeps.
local HISTORY = 100

-- Writes down what became of planned instants, and counts it: event.what is "fired", "skipped", "missed", "triggered"
-- or "backfilled", and the name of the count.
local function note(keys, event)
    redis.call("LPUSH", keys.history, cjson.encode(event))
    redis.call("LTRIM", keys.history, 0, HISTORY - 1)
    local count = tonumber(redis.call("HGET", keys.schedule, event.what)) or 0
    redis.call("HSET", keys.schedule, event.what, string.format("%.0f", count + (event.count or 1)))
end

-- An entry for one planned instant or, of more than one, for all from that to another.
local function stretch(what, reason, now, planned, to, count)
    local event = {what = what, reason = reason, at = now, planned = planned}
    if count > 1 then
        event.to, event.count = to, count
    end
    return event
end
