-- unique: writes a new task, unless one of the same key still waits, runs, or holds the key for a time.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 seq, 7 armed, 8 notify, 9 claims,
--       10 result; 11.. the slot: a page's list; or bucket, ready and wake lists; or ready and wake lists
-- ARGV  1 now in ms, 2 id, 3 record with placement 0, a nonce and the key's field, 4 how long the key is held: while
--       the task is "waiting", or "running" as well, 5 instant in ms until which it is held even if the task is done,
--       zero for none
-- Output  id of the task that holds the key, this one or another; empty if the id belongs to a task of another call
-- Cost  O(1)
-- States  none -> delayed, none -> ready, done -> delayed, done -> ready, cancelled -> delayed, cancelled -> ready
--
-- An id that is used again: as in schedule.lua.
-- No lock is written that could outlive its task: the claim names the task, and the task's state decides. Dies before:
-- nothing is written. Dies after: the repeated call finds its own nonce and changes nothing.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: declared
-- include: claim
-- include: take_id

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    seq = KEYS[6], armed = KEYS[7], notify = KEYS[8], claims = KEYS[9], result = KEYS[10]}
local now, id, record, held_while, ends = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4], tonumber(ARGV[5])
expect(now and #KEYS >= 11 and #ARGV == 5 and ends and (held_while == "waiting" or held_while == "running"))
local due, band, queue, _, nonce = header(record)
local _, field = extras(nonce or "")
expect(due and band <= 9 and field and id:byte() ~= 61 and is_declared(10, "result:" .. id))
local is_far = due > now and page_opens(due) > now
local at = (is_far or due <= now) and 11 or 12
expect(is_far and #KEYS == 11 or not is_far and #KEYS == at + 1)
local slot = is_far and {page = KEYS[11]}
    or {bucket = due > now and KEYS[11] or nil, ready = KEYS[at], wake = KEYS[at + 1]}

local held_until, holder = claim_parts(redis.call("HGET", keys.claims, field))
if holder then
    local state, _, _, of = claimant(keys, holder, field)
    local runs = state == "leased" and held_while == "running"
    if of == nonce or state == "waiting" or runs or state and held_until > now then
        return holder
    end
end
local before = redis.call("HGET", keys.runs, id)
before = before and run_parts(before)
if before and before.nonce == nonce then
    return id
elseif redis.call("HEXISTS", keys.records, id) == 1 then
    return ""
end
take_id(keys, id, before, keys.result)
local seq = redis.call("INCR", keys.seq) % 4294967296
redis.call("HSET", keys.records, id, record_moved(record, seq, due))
redis.call("HSET", keys.claims, field, struct.pack(">I6", ends) .. id)
redis.call("HINCRBY", keys.counts, queue .. ":" .. place(keys, slot, now, due, band, queue, id, seq), 1)
return id
