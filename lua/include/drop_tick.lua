-- Takes a schedule's next tick away: out of the timetable, or from behind the run that it was to follow.
local function drop_tick(keys, name)
    local member = "t" .. name
    redis.call("ZREM", keys.timetable, member)
    for _, id in ipairs(last_of(keys, name)) do
        local after = id and redis.call("HGET", keys.followers, id)
        if after and after:sub(7) == member then
            link(keys, id, follower(0, "e" .. name))
        end
    end
end
