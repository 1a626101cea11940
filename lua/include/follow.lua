-- What follows the end of a task stands under its id in the hash "followers": six bytes of number and a member of the
-- timetable. Either a blocked task, as the lone member that it will be, with its due time; or a tick ("t<schedule>"),
-- with the time in ms from the end to that tick. At most one of them: what comes later waits for the last of the line.
local function follower(number, member)
    return struct.pack(">I6", number) .. member
end

local function let_go(keys, id, text, now)
    redis.call("HDEL", keys.followers, id)
    if #text < 8 then
        return
    end
    local instant, member = (struct.unpack(">I6", text)), text:sub(7)
    if member:sub(1, 1) == "t" then
        instant = now + instant
    else
        local queue, waiting = member:match("^%d([^:]+):(.+)$", 6)
        local run = waiting and redis.call("HGET", keys.runs, waiting)
        if not run or run:sub(1, 1) ~= "b" then
            return
        end
        redis.call("HDEL", keys.runs, waiting)
        redis.call("HINCRBY", keys.counts, queue .. ":blocked", -1)
        redis.call("HINCRBY", keys.counts, queue .. ":delayed", 1)
    end
    redis.call("ZADD", keys.timetable, instant, member)
    arm(keys, instant)
end

-- Lets go what waits for the end of these tasks: into the timetable, where it is due at once or when the time has
-- passed. Nearly always nothing waits for any task, and one look says so.
local function follow(keys, ids, now)
    if not ids[1] or redis.call("EXISTS", keys.followers) == 0 then
        return
    end
    for n, text in ipairs(redis.call("HMGET", keys.followers, unpack(ids))) do
        if text then
            let_go(keys, ids[n], text, now)
        end
    end
end
