-- fire: due ticks of a schedule become tasks, or are skipped or missed, and the next tick takes their place: one step.
--
-- KEYS  1 timetable, 2 schedules, 3 records, 4 runs, 5 counts, 6 bands, 7 seq, 8 armed, 9 notify, 10 followers,
--       11 finished, 12 zones, 13 schedule, 14 history, 15 ready, 16 wake
-- ARGV  1 now in ms, 2 schedule's name, 3 instant of its tick in the timetable, 4 its definition hash, 5 next planned
--       instant in ms or "" for none, 6 instant in the timetable for that, 7 every: how many ms after the end of the
--       run the next tick comes, or "", 8 overlap (skip, queue, allow or replace), 9 how long finished tasks are
--       remembered in ms, 10 zone, 11 digest of its rules by which this is planned, 12 what a clock there shows at the
--       last of these ticks, and the zone, or ""; then for each tick or stretch of them, in order, five: "fire" (as
--       overlap says), "line" (behind the run that goes on) or "missed"; planned instant; id of the task, or reason;
--       record, or the last planned instant of the stretch; how late in ms, or how many
-- Output  {1 done, 0 somebody else was first, or the definition or the rules of the zone have changed, 2 a waiting task
--         has to be cancelled first, 3 the tick was planned by other rules, or put off, and has to be planned anew
--         first; head of the timetable; for each tick what became of it; the id of that waiting task or ""}
-- Cost  O(ticks given)
-- States  none -> ready, none -> blocked, blocked -> cancelled
--
-- The tick's instant is compared and replaced here, so one of several schedulers fires, and a repeated call does not.
-- Dies before: the tick is still due for the next scheduler. Dies after: tasks, history and next tick are all there.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: finish
-- include: flight
-- include: line
-- include: follow
-- include: unlink
-- include: make
-- include: last_run
-- include: tick
-- include: note
-- include: head
-- include: may_plan_by

local keys = {timetable = KEYS[1], schedules = KEYS[2], records = KEYS[3], runs = KEYS[4], counts = KEYS[5],
    bands = KEYS[6], seq = KEYS[7], armed = KEYS[8], notify = KEYS[9], followers = KEYS[10], finished = KEYS[11],
    zones = KEYS[12], schedule = KEYS[13], history = KEYS[14], ready = KEYS[15], wake = KEYS[16]}
local now, name, due, hash = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3]), ARGV[4]
local next_planned, next_tick, every = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local overlap, keep, zone, rules, wall = ARGV[8], tonumber(ARGV[9]), ARGV[10], ARGV[11], ARGV[12]
local POLICIES = {skip = true, queue = true, allow = true, replace = true}
expect(now and due and keep and #KEYS == 16 and #ARGV >= 12 and (#ARGV - 12) % 5 == 0 and POLICIES[overlap]
    and (next_planned or ARGV[5] == "") and (next_tick or ARGV[6] == "") and (every or ARGV[7] == ""))
local fires = false
for i = 13, #ARGV, 5 do
    fires = fires or ARGV[i] == "fire"
    expect(tonumber(ARGV[i + 1]) and tonumber(ARGV[i + 4])
        and (ARGV[i] == "missed" and tonumber(ARGV[i + 3]) or header(ARGV[i + 3])))
end

local stored = redis.call("HGET", keys.schedules, name)
-- A score that no oncue has written, negative or broken, reads as the caller reads it.
local score = redis.call("ZSCORE", keys.timetable, "t" .. name)
local instant = score and math.max(0, math.floor(tonumber(score))) or -1
local may_plan, is_in_force = may_plan_by(keys, zone, rules)
local is_ours = stored and stored:sub(1, #hash) == hash and may_plan
if is_ours and instant >= 0 then
    local before, standing = unpack(redis.call("HMGET", keys.schedule, "rules", "state"))
    if standing == "invalid" or before ~= rules and (before or is_in_force) then
        return {3, head(keys), {}, ""}
    end
end
if instant ~= due or due > now or not is_ours then
    if instant >= 0 and not stored then
        redis.call("ZREM", keys.timetable, "t" .. name)
    end
    return {0, head(keys), {}, ""}
end

-- A task that waits stands in a list that is not declared here: the caller cancels it, and comes again.
local last, state, run = last_run(keys, name)
if overlap == "replace" and state == "w" and fires then
    return {2, head(keys), {}, last}
end
-- Its predecessor ended without a word, which no script of this version does: it waits no longer.
if state == "b" and not in_flight(keys, run.nonce) then
    follow(keys, {run.nonce}, now)
    state, run = in_flight(keys, last)
end

-- Why a tick is skipped, or nil; and behind which task its own one waits, or nil.
local function judged(kind)
    if not state or overlap == "allow" then
        return nil, nil
    elseif kind == "line" then
        return nil, last
    elseif overlap == "skip" then
        return "overlap: " .. last .. " has not ended", nil
    elseif state ~= "b" then
        if overlap == "replace" and state == "l" then
            run.wished = true
            redis.call("HSET", keys.runs, last, run_text(run))
        end
        return nil, last
    elseif overlap == "queue" then
        return "overlap: " .. last .. " waits already", nil
    end
    local before, _, _, queue, _, nonce = run.nonce, header(redis.call("HGET", keys.records, last))
    unlink(keys, last, run, nonce)
    run.state = "c"
    finish(keys, {{last, run}}, now + keep)
    redis.call("HINCRBY", keys.counts, queue .. ":blocked", -1)
    redis.call("HINCRBY", keys.counts, queue .. ":cancelled", 1)
    return nil, before
end

local function fire(kind, planned, id, record, late)
    local reason, behind = judged(kind)
    redis.call("HSET", keys.schedule, "last", planned, "last_at", ARGV[1], "late", late, "through", planned)
    if reason then
        note(keys, {what = "skipped", reason = reason, at = now, planned = tonumber(planned), late = tonumber(late)})
        return "skipped"
    end
    local made = "there"
    if redis.call("HEXISTS", keys.runs, id) == 0 and redis.call("HEXISTS", keys.records, id) == 0 then
        made = make(keys, name, now, id, record, behind)
    end
    note(keys, {what = "fired", id = id, at = now, planned = tonumber(planned), late = tonumber(late),
        blocked = made == "blocked" or nil})
    redis.call("HSET", keys.schedule, "task", id)
    last, state, run = last_run(keys, name)
    return made
end

local became = {}
for i = 13, #ARGV, 5 do
    local kind, planned = ARGV[i], ARGV[i + 1]
    if kind == "missed" then
        note(keys, stretch("missed", ARGV[i + 2], now, tonumber(planned), tonumber(ARGV[i + 3]), tonumber(ARGV[i + 4])))
        redis.call("HSET", keys.schedule, "through", ARGV[i + 3])
        became[#became + 1] = kind
    else
        became[#became + 1] = fire(kind, planned, ARGV[i + 2], ARGV[i + 3], ARGV[i + 4])
    end
end
redis.call("HSET", keys.schedule, "state", set_tick(keys, name, next_planned, next_tick, every), "rules", rules)
if wall ~= "" then
    redis.call("HSET", keys.schedule, "wall", wall)
end
return {1, head(keys), became, ""}
