-- The tasks of a schedule that wait for each other, the newest last: "task" of its hash, and "line", the ids of those
-- that it was put behind. For the newest may be cancelled while the ones before it go on.
local function line_of(keys)
    local last, text = unpack(redis.call("HMGET", keys.schedule, "task", "line"))
    local ids = {}
    for id in (text or ""):gmatch("%S+") do
        ids[#ids + 1] = id
    end
    if last and ids[#ids] ~= last then
        ids[#ids + 1] = last
    end
    return ids
end
