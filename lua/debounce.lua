-- debounce: one task per key waits: each call gives it another due time and its own data, but none later than the first
-- of them allows, and to a retry none before its own; where none waits, a new one is written.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 seq, 7 armed, 8 notify, 9 claims, 10 stale,
--       11 result of the new task; 12.. its slot: a page's list; or bucket, ready and wake lists; or ready and wake
--       lists; then page and bucket of the task that waits
-- ARGV  1 now in ms, 2 id of a new task, 3 record with placement 0, a nonce and the key's field, 4 due time in ms for
--       which the slot is, 5 latest due time in ms that later calls may give a new task, zero for any, 6 index in KEYS
--       of the slot, 7 index of the page in which the task is believed to wait, zero for none, 8 of its bucket,
--       followed by its ready list
-- Output  what it is and its value: "id" of the task that waits now; or a need: "due" the due time that it gets, "hint"
--         "=<due>:..." where it stands, "page" to be opened first; or "taken", the id belongs to a task of another call
-- Cost  O(1), and O(the record)
-- States  none -> delayed, none -> ready, delayed -> ready, ready -> delayed, done -> delayed, done -> ready,
--         cancelled -> delayed, cancelled -> ready
--
-- An id that is used again: as in schedule.lua. The latest due time is an instant, and the same in each try, since what
-- a try is asked for has to hold when the next one comes.
-- Dies before: nothing has changed. Dies after: the repeated call finds its own nonce and changes nothing.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: where
-- include: sweep_list
-- include: declared
-- include: take_out
-- include: claim
-- include: take_id

local NEVER = 281474976710655
local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    seq = KEYS[6], armed = KEYS[7], notify = KEYS[8], claims = KEYS[9], stale = KEYS[10], result = KEYS[11]}
local now, id, record, given = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
local bound, index, page, bucket = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
expect(now and given and bound and index and index > 11 and page and bucket and #ARGV == 8)
local wanted, band, queue, _, nonce = header(record)
local _, field = extras(nonce or "")
expect(wanted and band <= 9 and field and id:byte() ~= 61 and is_declared(11, "result:" .. id))
local is_far = given > now and page_opens(given) > now
local at = (is_far or given <= now) and index or index + 1
expect(is_far and is_declared(index, "page:" .. page_member(given):sub(2))
    or not is_far and is_declared(at, "ready:" .. queue .. ":" .. band) and is_declared(at + 1, "wake:" .. queue))
local slot = is_far and {page = KEYS[index]}
    or {bucket = given > now and KEYS[index] or nil, ready = KEYS[at], wake = KEYS[at + 1]}

local latest, holder = claim_parts(redis.call("HGET", keys.claims, field))
local state, old, run, of
if holder then
    state, old, run, of = claimant(keys, holder, field)
    if of == nonce then
        return {"id", holder}
    end
end
local waits = state == "waiting"
if not waits then
    latest = bound > 0 and bound or NEVER
end
local due = math.min(wanted, latest)
-- A retry keeps its back-off: the latest time may be long past, and each call would run it at once.
if waits and run and run.attempts > 0 then
    due = math.max(due, run.due)
end
if due ~= given then
    return {"due", string.format("%.0f", due)}
end

local old_due, old_band, old_queue, old_seq, stands, name
if waits then
    old_due, old_band, old_queue, old_seq = header(old)
    old_due = run and run.due or old_due
    stands, name = where(keys, now, old_due, old_band, old_queue, holder, old_seq)
    if stands == "opening" then
        return {"page", page_member(old_due)}
    elseif stands == "page" and not is_declared(page, "page:" .. page_member(old_due):sub(2))
        or stands == "bucket" and not is_declared(bucket, "bucket:" .. name:sub(2)) then
        return {"hint", bucket_member(old_due, old_band, old_queue)}
    end
    id = holder
else
    local before = redis.call("HGET", keys.runs, id)
    before = before and run_parts(before)
    if before and before.nonce == nonce then
        return {"id", id}
    elseif redis.call("HEXISTS", keys.records, id) == 1 then
        return {"taken", id}
    end
    take_id(keys, id, before, keys.result)
end

local seq = redis.call("INCR", keys.seq) % 4294967296
redis.call("HSET", keys.records, id, record_moved(record, seq, due))
redis.call("HSET", keys.claims, field, struct.pack(">I6", latest) .. id)
if waits then
    if run then
        run.due, run.nonce = due, nonce
        redis.call("HSET", keys.runs, id, run_text(run))
    end
    take_out(keys, stands, name, page, bucket, old_band, old_queue, id, old_seq)
end
redis.call("HINCRBY", keys.counts, queue .. ":" .. place(keys, slot, now, due, band, queue, id, seq), 1)
return {"id", id}
