-- put_schedule: schedules are created or edited; the same definition again changes nothing, its tick least of all.
--
-- KEYS  1 timetable, 2 schedules, 3 records, 4 runs, 5 followers, 6 armed, 7 notify, 8 revisions,
--       9 zones; then of each schedule its hash and its history
-- ARGV  1 now in ms, 2 file that they come from, or "", 3 revision of that file; then for each schedule eleven:
--       name, definition hash, definition (JSON), the hash that it replaces ("" for none, "*" for any), next planned
--       instant in ms or "" for none, the instant in the timetable for that, "" or how many ms after the end of a run
--       the next tick comes, "1" if its definition says that it is not enabled, zone, digest of its rules by which
--       this is planned, and up to which instant it had been decided about its ticks then ("through"), or ""
-- Output  for each schedule: 1 created, 2 edited, 0 it was there already, -1 another definition is there than the one
--         to be replaced, -2 the file has a newer revision by now, -3 ticks of the old
--         definition are due, and have to be fired, or while it is paused written down, first, -4 other rules of the
--         zone are in force, or its ticks have been decided about meanwhile, and it has to be planned anew
-- Cost  O(schedules given)
-- States  unchanged
--
-- What was due before an edit is done by the definition it came from, and nothing is fired because of the edit. The
-- planned instant of a tick that jitter has kept for later, and that goes with the edit, counts as skipped. A paused
-- schedule stays paused. One that was handed over by another shard goes on with the state that it had there.
-- Dies before: nothing has changed. Dies after: definitions and ticks are both there.

-- include: expect
-- include: run
-- include: arm
-- include: flight
-- include: line
-- include: last_run
-- include: tick
-- include: drop_tick
-- include: note
-- include: may_plan_by

local keys = {timetable = KEYS[1], schedules = KEYS[2], records = KEYS[3], runs = KEYS[4], followers = KEYS[5],
    armed = KEYS[6], notify = KEYS[7], revisions = KEYS[8], zones = KEYS[9]}
local now, file, revision = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local HASH = 32
expect(now and #ARGV >= 3 and (#ARGV - 3) % 11 == 0 and #KEYS == 9 + (#ARGV - 3) / 11 * 2)
for i = 4, #ARGV, 11 do
    for n = 4, 6 do
        expect(ARGV[i + n] == "" or tonumber(ARGV[i + n]))
    end
end

local function put(name, hash, definition, replaces, planned, instant, every, is_off, rules, through)
    local stored = redis.call("HGET", keys.schedules, name)
    local moved = redis.call("HGET", keys.schedule, "moved")
    local state = redis.call("HGET", keys.schedule, moved and "was" or "state") or "active"
    local is_there = stored and state ~= "removed"
    local known = is_there and stored:sub(1, HASH) or ""
    -- A caller that slept over a tick would have it come again, long after its task is forgotten.
    local is_overtaken = (redis.call("HGET", keys.schedule, "through") or "") ~= through
    local is_same = is_there and stored:sub(1, #hash) == hash
    if is_same and state ~= "invalid" and not moved then
        local tick = redis.call("ZSCORE", keys.timetable, "t" .. name)
        if state == "active" and not tick and is_overtaken then
            return -4
        elseif state == "active" and not tick then
            set_tick(keys, name, planned, instant, every)
            redis.call("HSET", keys.schedule, "rules", rules)
        end
        return 0
    elseif replaces ~= "*" and known ~= replaces then
        return -1
    end
    local tick = tonumber(state == "paused" and redis.call("HGET", keys.schedule, "planned")
        or redis.call("ZSCORE", keys.timetable, "t" .. name))
    -- One that nobody could read is put off: whoever puts it can, and fires first what has been due meanwhile. Put in
    -- another form it is an edit, and what it was is beyond anybody.
    local comes_first = state == "invalid" and is_same or state ~= "invalid" and tick and tick <= now
    if is_there and tick and comes_first and not moved then
        return -3
    elseif is_overtaken then
        return -4
    end
    local kept = tonumber(redis.call("HGET", keys.schedule, "planned"))
    if kept and kept ~= planned and (tonumber(through) or 0) < kept and kept <= (tonumber(moved) or now) then
        note(keys, stretch("skipped", "edited before its run", now, kept, kept, 1))
        redis.call("HSET", keys.schedule, "through", string.format("%.0f", kept))
    end
    drop_tick(keys, name)
    redis.call("HSET", keys.schedules, name, hash .. definition)
    redis.call("HSET", keys.schedule, "since", ARGV[1], "rules", rules)
    redis.call("HDEL", keys.schedule, "reason", "put_off", "moved", "was")
    if moved then
        -- For a mover that is slow: this mark is no longer one, whatever becomes of the schedule.
        redis.call("HSET", keys.revisions, "~" .. name, moved .. " ")
    end
    -- Kept when it comes back after a removal: what ran before must not count as never run, for a backfill.
    redis.call("HSETNX", keys.schedule, "created", ARGV[1])
    local was_off = redis.call("HDEL", keys.schedule, "off") == 1
    if is_off then
        redis.call("HSET", keys.schedule, "off", "1")
    end
    if is_off or state == "paused" and not was_off then
        redis.call("HSET", keys.schedule, "state", "paused", "planned", planned or "")
    else
        redis.call("HSET", keys.schedule, "state", set_tick(keys, name, planned, instant, every))
    end
    return is_there and 2 or 1
end

local is_old = file ~= "" and redis.call("HGET", keys.revisions, "=" .. file) ~= revision
local answers = {}
for i = 4, #ARGV, 11 do
    local at = 10 + (i - 4) / 11 * 2
    keys.schedule, keys.history = KEYS[at], KEYS[at + 1]
    local zone, rules = ARGV[i + 8], ARGV[i + 9]
    answers[#answers + 1] = is_old and -2 or not may_plan_by(keys, zone, rules) and -4
        or put(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4]), tonumber(ARGV[i + 5]),
            tonumber(ARGV[i + 6]), ARGV[i + 7] == "1", rules, ARGV[i + 10])
end
return answers
