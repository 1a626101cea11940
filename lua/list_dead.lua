-- list_dead: a page of the dead in the order of their burials, from a place that holds though others come and go.
-- Writes nothing.
--
-- KEYS  1 dead
-- ARGV  1 which come first: "oldest" or "newest", 2 instant in ms of the last one seen, 3 its id (it is not given
--       again; without an id all of that instant are given), 4 how many at most
-- Output  flat: id, instant of its burial
-- Cost  O(log dead + tasks given)
-- States  unchanged
--
-- Dies before or after: nothing has changed.

-- include: expect

local instant, id, most = ARGV[2], ARGV[3], tonumber(ARGV[4])
local is_newest = ARGV[1] == "newest"
expect(#KEYS == 1 and #ARGV == 4 and (is_newest or ARGV[1] == "oldest") and tonumber(instant) and most and most > 0)

-- How many stand before the one that was seen, whether it is still there or not: within an instant by their bytes.
local function rank()
    local low = redis.call("ZCOUNT", KEYS[1], "-inf", "(" .. instant)
    local high = redis.call("ZCOUNT", KEYS[1], "-inf", instant)
    if id == "" then
        return is_newest and high or low, false
    end
    while low < high do
        local middle = math.floor((low + high) / 2)
        if redis.call("ZRANGE", KEYS[1], middle, middle)[1] < id then
            low = middle + 1
        else
            high = middle
        end
    end
    return low, redis.call("ZRANGE", KEYS[1], low, low)[1] == id
end

local before, is_there = rank()
if is_newest then
    if before == 0 then
        return {}
    end
    local found = redis.call("ZRANGE", KEYS[1], math.max(0, before - most), before - 1, "WITHSCORES")
    local flat = {}
    for i = #found - 1, 1, -2 do
        flat[#flat + 1], flat[#flat + 2] = found[i], found[i + 1]
    end
    return flat
end
local first = is_there and before + 1 or before
return redis.call("ZRANGE", KEYS[1], first, first + most - 1, "WITHSCORES")
