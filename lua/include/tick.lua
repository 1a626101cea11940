-- Puts a schedule's next tick into the timetable, and says what state that makes: without a tick it is finished. Where
-- ticks count from the end of a run ("every" in ms) and one is going on, the tick will follow that.
local function set_tick(keys, name, planned, instant, every)
    local member = "t" .. name
    local last = every and last_run(keys, name)
    if last then
        link(keys, last, follower(every, member))
        redis.call("HDEL", keys.schedule, "planned")
        redis.call("ZREM", keys.timetable, member)
        return "active"
    end
    if instant then
        redis.call("HSET", keys.schedule, "planned", string.format("%.0f", planned))
        redis.call("ZADD", keys.timetable, instant, member)
        arm(keys, instant)
        return "active"
    end
    redis.call("HDEL", keys.schedule, "planned")
    redis.call("ZREM", keys.timetable, member)
    return "finished"
end
