-- cancel: takes waiting tasks out for good; of running ones it is noted that this is wished, for their next renewal.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 stale, 6 finished, 7 errors, 8 armed, 9 notify,
--       10 followers; 11.. pages and buckets
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms; then for each task: id, and for the due time that
--       the caller believes: the index in KEYS of its page, and of its bucket, followed by its ready list
-- Output  for each task: "cancelled" (now or before), "leased", "done", "dead", "unknown", or a need: "=<due>:..." that
--         due time, band and queue are the true ones, "p<page>" that page has to be opened first
-- Cost  O(tasks given)
-- States  delayed -> cancelled, ready -> cancelled, blocked -> cancelled, blocked -> delayed
--
-- A running task with that note is cancelled when it is retried, released or reclaimed.
-- Dies before: nothing is cancelled. Dies after: the repeated call says "cancelled" again.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: where
-- include: sweep_list
-- include: declared
-- include: take_out
-- include: finish
-- include: line
-- include: follow
-- include: unlink

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], stale = KEYS[5],
    finished = KEYS[6], errors = KEYS[7], armed = KEYS[8], notify = KEYS[9], followers = KEYS[10]}
local now, keep = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2])
expect(#KEYS >= 10 and #ARGV % 3 == 2)
local ANSWERS = {l = "leased", x = "dead"}

-- A blocked task stands in no list.
local function cancel_blocked(id, run, queue, nonce)
    unlink(keys, id, run, nonce)
    run.state = "c"
    finish(keys, {{id, run}}, keep)
    redis.call("HINCRBY", keys.counts, queue .. ":blocked", -1)
    redis.call("HINCRBY", keys.counts, queue .. ":cancelled", 1)
    return "cancelled"
end

local function cancel(id, page, bucket)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    if run and run.state == "l" and not run.wished then
        run.wished = true
        redis.call("HSET", keys.runs, id, run_text(run))
    end
    local otherwise = run and (ANSWERS[run.state] or ended_as(run))
    if otherwise then
        return otherwise
    elseif not record then
        return "unknown"
    end
    local due, band, queue, seq, nonce = header(record)
    if not due then
        return "unknown"
    end
    if run and run.state == "b" then
        return cancel_blocked(id, run, queue, nonce)
    end
    run = run or {token = 0, attempts = 0, failed = 0, lost = 0, throttled = 0, due = due, nonce = nonce}
    due = run.due
    local named = bucket_member(due, band, queue)
    if not is_declared(page, "page:" .. page_member(due):sub(2))
        or not is_declared(bucket, "bucket:" .. named:sub(2)) then
        return named
    end
    local place, name = where(keys, now, due, band, queue, id, seq)
    if place == "opening" then
        return page_member(due)
    end
    if text then
        redis.call("HDEL", keys.errors, id)
    end
    run.state = "c"
    finish(keys, {{id, run}}, keep)
    redis.call("HINCRBY", keys.counts, queue .. ":cancelled", 1)
    take_out(keys, place, name, tonumber(page), tonumber(bucket), band, queue, id, seq)
    follow(keys, {id}, now)
    return "cancelled"
end

local answers = {}
for i = 3, #ARGV, 3 do
    answers[#answers + 1] = cancel(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
return answers
