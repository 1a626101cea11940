-- reschedule: waiting tasks get another due time, wherever they stand; one that is due by now becomes ready.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 stale, 7 seq, 8 armed, 9 notify;
--       10.. pages and buckets; and slots: a page's list; or bucket, ready and wake lists; or ready and wake lists
-- ARGV  1 now in ms; then for each task: id, new due time in ms; for the due time that the caller believes it has: the
--       index in KEYS of its page, and of its bucket, followed by its ready list; and the index of its slot at the new
--       due time
-- Output  for each task: "moved", "leased", "done", "dead", "cancelled", "blocked", "unknown", "expires:<instant>" (it
--         has to have begun by that instant in ms); or a need: "=<due>:..." that due time, band and queue are the true
--         ones, "p<page>" that page has to be opened first
-- Cost  O(tasks given), each O(its record)
-- States  delayed -> ready, ready -> delayed
--
-- What is ready and would be ready stays in its place.
-- The old entry becomes stale: the record carries a new placement number. Dies before: nothing has moved. Dies after:
-- the repeated call moves it to the same instant again, unless it has begun by then.

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

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    stale = KEYS[6], seq = KEYS[7], armed = KEYS[8], notify = KEYS[9]}
local now = tonumber(ARGV[1])
expect(now and #KEYS >= 9 and #ARGV % 5 == 1)
for i = 2, #ARGV, 5 do
    expect(tonumber(ARGV[i + 1]) and tonumber(ARGV[i + 2]) and tonumber(ARGV[i + 3]) and tonumber(ARGV[i + 4]))
end
local ANSWERS = {l = "leased", x = "dead", b = "blocked"}

-- The slot at an index of KEYS for a task due then, or nil if it is another's.
local function slot_at(index, due, band, queue)
    if due > now and page_opens(due) > now then
        return is_declared(index, "page:" .. page_member(due):sub(2)) and {page = KEYS[index]} or nil
    end
    local bucket = due > now and is_declared(index, "bucket:" .. bucket_member(due, band, queue):sub(2))
    local at = bucket and index + 1 or index
    if not is_declared(at, "ready:" .. queue .. ":" .. band) or not is_declared(at + 1, "wake:" .. queue) then
        return nil
    end
    return {bucket = bucket and KEYS[index] or nil, ready = KEYS[at], wake = KEYS[at + 1]}
end

local function reschedule(id, new_due, page, bucket, index)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    local otherwise = run and (ANSWERS[run.state] or ended_as(run))
    if otherwise then
        return otherwise
    end
    local due, band, queue, seq, nonce = header(record or "")
    if not due then
        return "unknown"
    end
    local expires = (not run or run.attempts == 0) and extras(nonce)
    if expires and new_due > expires then
        return string.format("expires:%.0f", expires)
    end
    due = run and run.due or due
    local named = bucket_member(due, band, queue)
    local slot = slot_at(index, new_due, band, queue)
    if not slot or not is_declared(page, "page:" .. page_member(due):sub(2))
        or not is_declared(bucket, "bucket:" .. named:sub(2)) then
        return named
    end
    local stands, name = where(keys, now, due, band, queue, id, seq)
    if stands == "opening" then
        return page_member(due)
    end
    local stays = stands == "ready" and new_due <= now
    local new_seq = stays and seq or redis.call("INCR", keys.seq) % 4294967296
    redis.call("HSET", keys.records, id, record_moved(record, new_seq, new_due))
    if run then
        run.due = new_due
        redis.call("HSET", keys.runs, id, run_text(run))
    end
    if stays then
        return "moved"
    end
    take_out(keys, stands, name, page, bucket, band, queue, id, seq)
    local state = place(keys, slot, now, new_due, band, queue, id, new_seq)
    redis.call("HINCRBY", keys.counts, queue .. ":" .. state, 1)
    return "moved"
end

local answers = {}
for i = 2, #ARGV, 5 do
    answers[#answers + 1] = reschedule(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]),
        tonumber(ARGV[i + 4]))
end
return answers
