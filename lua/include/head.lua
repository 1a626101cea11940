-- What comes first in the timetable, with instants: up to 64 members, flat. Every scheduler that asks is armed for the
-- first of them from now on.
local function head(keys)
    local members = redis.call("ZRANGE", keys.timetable, 0, 63, "WITHSCORES")
    if members[2] then
        redis.call("SET", keys.armed, members[2])
    else
        redis.call("DEL", keys.armed)
    end
    return members
end
