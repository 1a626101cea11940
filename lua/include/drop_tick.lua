-- Takes a schedule's next tick away: out of the timetable, or from behind the run that it was to follow.
local function drop_tick(keys, name)
    local member = "t" .. name
    redis.call("ZREM", keys.timetable, member)
    local last = redis.call("HGET", keys.schedule, "task")
    local after = last and redis.call("HGET", keys.followers, last)
    if after and after:sub(7) == member then
        redis.call("HDEL", keys.followers, last)
    end
end
