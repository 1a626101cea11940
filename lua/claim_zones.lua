-- claim_zones: which rules of time zones are in force: those of the newest release that anybody has brought.
--
-- KEYS  1 zones
-- ARGV  for each zone four: its name; digest, release ("" if unknown) and data of the rules that the caller knows, all
--       three "" for none
-- Output  for each zone: 1 the caller's rules are in force, and nobody had any before, 0 they were in force already,
--         and are of the caller's release from now on if that is newer, 2 they have replaced those of an older
--         release, -1 nobody knows the zone, or {digest, release, data} of those that are in force instead
-- Cost  O(zones given)
-- States  unchanged
--
-- What was planned by the rules before is marked by the field "!<zone> <digest>" until it has been planned anew, by
-- these rules: whoever has done that by others leaves the mark. Dies before: nothing has changed. Dies after: the mark
-- makes the next scheduler that starts plan anew.

-- include: expect

local DIGEST = 16
local zones = KEYS[1]
expect(#KEYS == 1 and #ARGV > 0 and #ARGV % 4 == 0)

local function claim(zone, digest, release, data)
    local stored, rules = redis.call("HGET", zones, zone), redis.call("HGET", zones, "=" .. zone)
    local is_there = stored and rules
    if is_there and stored:sub(1, DIGEST) == digest then
        -- A release in between may have had others, and must not come back.
        if release > stored:sub(DIGEST + 2) then
            redis.call("HSET", zones, zone, digest .. " " .. release)
        end
        return 0
    elseif is_there and (digest == "" or release <= stored:sub(DIGEST + 2)) then
        return {stored:sub(1, DIGEST), stored:sub(DIGEST + 2), rules}
    elseif digest == "" then
        return -1
    end
    redis.call("HSET", zones, zone, digest .. " " .. release, "=" .. zone, data)
    if is_there then
        redis.call("HSET", zones, "!" .. zone .. " " .. digest, release)
    end
    return is_there and 2 or 1
end

local answers = {}
for i = 1, #ARGV, 4 do
    answers[#answers + 1] = claim(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return answers
