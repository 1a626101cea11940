-- Whoever waited for the end of a task enters the timetable: a blocked one by its due time, which has come, a tick as
-- long after the end as it has to be.
local function let_go(keys, id, text, now)
    redis.call("HDEL", keys.followers, id)
    if #text < 8 then
        return
    end
    local instant, member = (struct.unpack(">I6", text)), text:sub(7)
    local kind = member:sub(1, 1)
    if kind ~= "+" then
        redis.call("HDEL", keys.followers, "=" .. member:sub(2))
        if kind == "e" then
            return
        end
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
