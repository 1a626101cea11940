-- arrive: a schedule that was handed over by another shard is here, without a tick until it is put.
--
-- KEYS  1 schedules, 2 schedule, 3 history, 4 backfilled, 5 revisions
-- ARGV  1 name, 2 hash and definition, 3 how many fields it has, 4 how many entries its history; then the fields, name
--       and value in turn; then the history, the newest first; then the planned instants that were backfilled
-- Output  1 it is here, now or before, 0 one of that name is here that no move has brought, or that has been put since,
--         -1 what a later move has brought is here, or this one has been put here before, and is gone since
-- Cost  O(fields, entries of the history and backfilled instants, which are 10,000 at most)
-- States  unchanged
--
-- Dies before: nothing has changed. Dies after: it is in both shards, and without a tick in either; put_schedule gives
-- it one in this or in that. The repeated call answers the same.

-- include: expect

local keys = {schedules = KEYS[1], schedule = KEYS[2], history = KEYS[3], backfilled = KEYS[4], revisions = KEYS[5]}
local name, fields, events = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
expect(#KEYS == 5 and fields and fields >= 0 and events and events >= 0 and #ARGV >= 4 + 2 * fields + events)
for i = 5 + 2 * fields + events, #ARGV do
    expect(tonumber(ARGV[i]))
end
local given = {}
for i = 5, 3 + 2 * fields, 2 do
    given[ARGV[i]] = ARGV[i + 1]
end
local moved = tonumber(given.moved)
expect(moved)
local state, left = unpack(redis.call("HMGET", keys.schedule, "state", "moved"))
if redis.call("HEXISTS", keys.schedules, name) == 1 and state ~= "removed" then
    left = tonumber(left)
    if not left then
        return 0
    elseif left >= moved then
        return left == moved and 1 or -1
    end
elseif redis.call("HGET", keys.revisions, "~" .. name) == given.moved .. " " then
    return -1
end
redis.call("DEL", keys.schedule, keys.history, keys.backfilled)
redis.call("HSET", keys.schedules, name, ARGV[2])
for i = 5, 3 + 2 * fields, 2 do
    redis.call("HSET", keys.schedule, ARGV[i], ARGV[i + 1])
end
for i = 5 + 2 * fields, 4 + 2 * fields + events do
    redis.call("RPUSH", keys.history, ARGV[i])
end
for i = 5 + 2 * fields + events, #ARGV do
    redis.call("ZADD", keys.backfilled, ARGV[i], ARGV[i])
end
return 1
