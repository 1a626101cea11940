-- claim_revision: whether the revision of a file that somebody has read is to be put into the store.
--
-- KEYS  1 revisions
-- ARGV  1 file, 2 revision of it, 3 replaces: the revision that it may replace though it was in force before that, "*"
--       for any, "" for none, 4 order: "" to be given one, as the first shard does, or on the other shards the one
--       that was given there
-- Output  {1 it is new and from now on the one in force, 0 it is in force already, -1 it was in force once, or has been
--         overtaken, and is replaced; its order}
-- Cost  O(1), and once in some hundred new revisions O(revisions)
-- States  unchanged
--
-- A revision is a hash of content, which cannot say newer by itself: the order in which revisions were claimed does.
-- Dies before: nothing has changed. Dies after: it is in force; whoever starts with it next puts what is still missing.

-- include: expect

local MOST = 1000
local revisions = KEYS[1]
local file, revision, given = ARGV[1], ARGV[2], tonumber(ARGV[4])
expect(#KEYS == 1 and #ARGV == 4 and (ARGV[4] == "" or tonumber(ARGV[4])) and file ~= "" and revision ~= "")

local function forget_the_oldest()
    local orders, flat = {}, redis.call("HGETALL", revisions)
    for i = 1, #flat, 2 do
        if flat[i]:sub(1, 1) ~= "=" then
            -- Notes of moves, "~name", are of use for moments: they go first.
            orders[#orders + 1] = {flat[i]:sub(1, 1) == "~" and 0 or tonumber(flat[i + 1]) or 0, flat[i]}
        end
    end
    table.sort(orders, function(one, other) return one[1] < other[1] end)
    for i = 1, #orders - MOST / 2 do
        redis.call("HDEL", revisions, orders[i][2])
    end
end

local function order_of(name)
    return name and tonumber(redis.call("HGET", revisions, name .. " " .. file))
end

local current = redis.call("HGET", revisions, "=" .. file)
local before, known = order_of(current), order_of(revision)
if given and before and before >= given then
    return {before == given and current == revision and 0 or -1, given}
elseif not given and current == revision and known then
    return {0, known}
elseif not given and known and ARGV[3] ~= "*" and (ARGV[3] == "" or ARGV[3] ~= current) then
    return {-1, known}
end
local order = given or (tonumber(redis.call("HGET", revisions, "=")) or 0) + 1
redis.call("HSET", revisions, "=", string.format("%.0f", order), "=" .. file, revision,
    revision .. " " .. file, string.format("%.0f", order))
if redis.call("HLEN", revisions) > MOST then
    forget_the_oldest()
end
return {1, order}
