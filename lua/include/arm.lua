-- Tells every scheduler of an instant, when it comes before the one that all of them are armed for. Schedulers read the
-- stream each with a cursor of their own, so a message cannot be used up by one that dies, nor come between its look
-- and its sleep. Raised again only by a scheduler that has looked at the timetable (see head.lua).
local armed

local function arm(keys, instant)
    -- Asked for once in a call, which may place many.
    armed = armed or tonumber(redis.call("GET", keys.armed)) or math.huge
    if instant < armed then
        armed = instant
        redis.call("SET", keys.armed, string.format("%.0f", instant))
        redis.call("XADD", keys.notify, "MAXLEN", "=", 16, "*", "due", string.format("%.0f", instant))
    end
end
