-- How many tasks of a line are remembered.
local LINE = 16

-- Notes that a task of a schedule waits for another one of it. Of a long line the first and the newest are kept.
local function line_up(keys, id, behind)
    local ids = line_of(keys)
    while ids[1] and ids[#ids] ~= behind do
        -- Those after it have ended.
        ids[#ids] = nil
    end
    while ids[1] and not in_flight(keys, ids[1]) do
        table.remove(ids, 1)
    end
    if not ids[1] then
        ids[1] = behind
    end
    ids[#ids + 1] = id
    while #ids > LINE do
        table.remove(ids, 2)
    end
    redis.call("HSET", keys.schedule, "line", table.concat(ids, " "))
end
