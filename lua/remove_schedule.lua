-- remove_schedule: a schedule goes; tasks that it has made stay.
--
-- KEYS  1 timetable, 2 schedules, 3 followers, 4 revisions, 5 schedule, 6 history, 7 backfilled
-- ARGV  1 now in ms, 2 name, 3 definition hash that the caller knows, or "" for whatever is there, 4 for good:
--       "1", else its definition and history stay, 5 file that it has left, or "", 6 revision of that file; and where
--       only what a move has left behind is to go, 7 the instant of that move, 8 the shard that it went to, or ""
-- Output  1 removed, 0 it was not there or was removed already, or has been edited meanwhile, or the file has a newer
--         revision by now, or it stands here again
-- Cost  O(1)
-- States  unchanged
--
-- One that is on its way to another shard leaves a note of what became of it, for a mover that is slow.
-- Dies before: it is still there. Dies after: it is gone; the repeated call answers 0.

-- include: expect
-- include: line
-- include: drop_tick

local keys = {timetable = KEYS[1], schedules = KEYS[2], followers = KEYS[3], revisions = KEYS[4], schedule = KEYS[5],
    history = KEYS[6], backfilled = KEYS[7]}
local now, name, hash, for_good, file = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4] == "1", ARGV[5]
expect(now and #KEYS == 7 and #ARGV >= 6 and #ARGV <= 8)
local stored = redis.call("HGET", keys.schedules, name)
if not stored or stored:sub(1, #hash) ~= hash then
    return 0
end
if file ~= "" and redis.call("HGET", keys.revisions, "=" .. file) ~= ARGV[6] then
    return 0
end
local moved = redis.call("HGET", keys.schedule, "moved")
if ARGV[7] and moved ~= ARGV[7] then
    return 0
end
if not for_good and redis.call("HGET", keys.schedule, "state") == "removed" then
    return 0
end
drop_tick(keys, name)
if moved then
    redis.call("HSET", keys.revisions, "~" .. name, moved .. " " .. (ARGV[8] or ""))
end
if for_good then
    redis.call("HDEL", keys.schedules, name)
    redis.call("DEL", keys.schedule, keys.history, keys.backfilled)
else
    redis.call("HSET", keys.schedule, "state", "removed", "at", ARGV[1])
    redis.call("HDEL", keys.schedule, "planned", "moved", "was")
end
return 1
