-- hand_over: a schedule leaves its shard for another: no more ticks here, and the answer is what the other has to know.
--
-- KEYS  1 timetable, 2 schedules, 3 followers, 4 revisions, 5 schedule, 6 history
-- ARGV  1 now in ms, 2 name, 3 definition hash that the caller knows, or "" for whatever is there, 4 file that it is
--       moved by, or "", 5 revision of that file
-- Output  {1 handed over, now or before, 0 it was not there or has been removed or edited meanwhile, -2 the file has a
--         newer revision by now, -3 its ticks are due, and have to be fired, or while it is paused written down, first;
--         hash and definition; its fields, name and value in turn; its history, the newest first}
-- Cost  O(entries of its history)
-- States  unchanged
--
-- Until put_schedule takes it up again, there or here, it is marked with the instant of the move, "moved", and with the
-- state that it had, "was". Ticks planned after that instant are then due; one that has been put off goes along.
-- Dies before: nothing has changed. Dies after: it has no tick; whoever puts it next goes on from the mark. The
-- repeated call answers the same.

-- include: expect
-- include: line
-- include: drop_tick

local keys = {timetable = KEYS[1], schedules = KEYS[2], followers = KEYS[3], revisions = KEYS[4], schedule = KEYS[5],
    history = KEYS[6]}
local now, name, hash, file = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
expect(now and #KEYS == 6 and #ARGV == 5)
local stored = redis.call("HGET", keys.schedules, name)
local state = redis.call("HGET", keys.schedule, "state") or "active"
if not stored or state == "removed" or stored:sub(1, #hash) ~= hash then
    return {0}
end
if file ~= "" and redis.call("HGET", keys.revisions, "=" .. file) ~= ARGV[5] then
    return {-2}
end
if redis.call("HEXISTS", keys.schedule, "moved") == 0 then
    local planned, put_off, through = unpack(redis.call("HMGET", keys.schedule, "planned", "put_off", "through"))
    planned = tonumber(planned or put_off)
    local tick = redis.call("ZSCORE", keys.timetable, "t" .. name)
    local due, since = state == "paused" and planned or tonumber(tick), now
    if state == "invalid" then
        -- Nobody here could read it, so its tick is put off: it goes along.
        since = tick and planned and math.min(now, planned - 1) or now
    elseif due and due <= now then
        return {-3}
    end
    -- No two marks are the same, or a mover could take another one's for its own.
    local noted = tonumber((redis.call("HGET", keys.revisions, "~" .. name) or ""):match("^%d+"))
    if noted and since <= noted and noted < since + 1000 and not (planned and planned <= noted + 1) then
        since = noted + 1
    end
    -- A tick that the end of a run has put stands in the timetable alone; it tells when that was. An older oncue may
    -- have left the one before it here.
    if tick and state ~= "invalid" and (not planned or planned <= (tonumber(through) or 0)) then
        redis.call("HSET", keys.schedule, "planned", tick)
    end
    drop_tick(keys, name)
    redis.call("HSET", keys.schedule, "state", "invalid", "was", state == "invalid" and "active" or state,
        "moved", string.format("%.0f", since),
        "reason", "its move to another shard was cut short: start a scheduler, apply its file, or change it")
end
return {1, stored, redis.call("HGETALL", keys.schedule), redis.call("LRANGE", keys.history, 0, -1)}
