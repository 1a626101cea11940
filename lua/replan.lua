-- replan: ticks that were planned by rules of a zone that are no longer in force, or were put off since nobody could
-- read their schedule, get the instant that they have to have.
--
-- KEYS  1 timetable, 2 schedules, 3 zones, 4 armed, 5 notify; then each schedule
-- ARGV  for each schedule seven: name, definition hash, zone, digest of its rules by which the caller plans; planned
--       instant in ms, "" for none, or "stays" for a tick that counts from the end of a run; the instant in the
--       timetable for that, or ""; up to which instant it had been decided about its ticks then ("through"), or ""
-- Output  for each schedule: 1 planned anew, 0 there is no need, or it has been edited or removed, or its ticks have
--         been decided about meanwhile, or other rules are in force by now
-- Cost  O(schedules given)
-- States  unchanged
--
-- Dies before: the tick stands where it stood, and whoever fires it finds that out. Dies after: the repeated call
-- answers 0.

-- include: expect
-- include: run
-- include: arm
-- include: flight
-- include: line
-- include: last_run
-- include: tick

local keys = {timetable = KEYS[1], schedules = KEYS[2], zones = KEYS[3], armed = KEYS[4], notify = KEYS[5]}
expect(#KEYS >= 5 and #ARGV % 7 == 0 and #KEYS == 5 + #ARGV / 7)
for i = 5, #ARGV, 7 do
    expect(tonumber(ARGV[i]) and tonumber(ARGV[i + 1])
        or (ARGV[i] == "" or ARGV[i] == "stays") and ARGV[i + 1] == "")
end

local function replan(name, hash, zone, rules, planned, instant, through)
    local stored, in_force = redis.call("HGET", keys.schedules, name), redis.call("HGET", keys.zones, zone)
    local tick = redis.call("ZSCORE", keys.timetable, "t" .. name)
    if not tick or not stored or stored:sub(1, #hash) ~= hash or not in_force or in_force:sub(1, #rules) ~= rules then
        return 0
    end
    local before, state, was, decided =
        unpack(redis.call("HMGET", keys.schedule, "rules", "state", "put_off", "through"))
    -- A caller that slept over a tick would have it come again; whoever was first planned by the rules in force.
    if before == rules and state ~= "invalid" or (decided or "") ~= through then
        return 0
    end
    redis.call("HSET", keys.schedule, "rules", rules)
    redis.call("HDEL", keys.schedule, "reason", "put_off")
    if planned == "stays" then
        local at = tonumber(was or tick)
        redis.call("ZADD", keys.timetable, at, "t" .. name)
        redis.call("HSET", keys.schedule, "state", "active")
        arm(keys, at)
    else
        redis.call("HSET", keys.schedule, "state", set_tick(keys, name, tonumber(planned), tonumber(instant)))
    end
    return 1
end

local answers = {}
for i = 1, #ARGV, 7 do
    keys.schedule = KEYS[6 + (i - 1) / 7]
    answers[#answers + 1] = replan(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5],
        ARGV[i + 6])
end
return answers
