-- locate: what the store knows of tasks, so that the caller learns which keys the next call needs. Writes nothing.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 errors
-- ARGV  1 now in ms, 2 how many bytes of records and errors at most (one more task is given), "0" for none; then
--       ids
-- Output  for each task, or with records for as many of the first as fit: empty if unknown, else state, due in ms,
--         band, queue, attempts, failed, lost, record, error, reason, throttled; record and error are empty if not
--         asked for. The reason: why a task is cancelled, where nobody asked for that ("expired", "purged"), or "cancel
--         wished" of one that runs. A cancelled or done task has neither queue nor record any more, and in place of the
--         due time the instant at which it will be forgotten. So it is with a record that cannot be read.
-- Cost  O(ids given)
-- States  unchanged
--
-- Dies before or after: nothing has changed.

-- include: expect
-- include: record
-- include: run
-- include: members
-- include: where

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], errors = KEYS[4]}
local now, bytes_left = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and bytes_left and bytes_left >= 0 and #KEYS == 4)
local whole = bytes_left > 0
local REASONS = {e = "expired", p = "purged"}
local NAMES = {l = "leased", x = "dead", b = "blocked"}

local function describe(id)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    local state = run and (NAMES[run.state] or ended_as(run))
    local reason = run and (REASONS[run.state] or run.wished and "cancel wished") or ""
    local failure = whole and redis.call("HGET", keys.errors, id) or ""
    local due, band, queue, seq = header(record or "")
    if not due then
        return state and {state, run.due, 0, "", run.attempts, run.failed, run.lost, "", failure, reason,
            run.throttled} or {}
    end
    due = run and run.due or due
    if not state then
        local place = where(keys, now, due, band, queue, id, seq)
        state = (place == "ready" or place == "opening" and due <= now) and "ready" or "delayed"
    end
    return {state, due, band, queue, run and run.attempts or 0, run and run.failed or 0, run and run.lost or 0,
        whole and record or "", failure, reason, run and run.throttled or 0}
end

local answers = {}
for i = 3, #ARGV do
    if bytes_left < 0 then
        break
    end
    local found = describe(ARGV[i])
    answers[#answers + 1] = found
    bytes_left = bytes_left - #(found[8] or "") - #(found[9] or "")
end
return answers
