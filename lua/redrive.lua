-- redrive: dead tasks become ready once more, as if they had never run; into another queue if that is wished.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 seq, 7 dead, 8 dead_bytes, 9 errors, 10 armed, 11 notify,
--       12 claims; 13.. ready and wake lists
-- ARGV  1 now in ms, 2 the instant of the redrive in ms, the same in a repeated call; then for each task: id, the queue
--       that it goes to, its band, index in KEYS of that queue's and band's ready list, followed by the wake list
-- Output  for each task: "ready" (now, or before by this redrive), or what it is instead: "leased", "done",
--         "cancelled", "waiting", "unknown"; or a need: "=<due>:..." that band and queue are the true ones
-- Cost  O(tasks given), each O(its record) and O(log dead)
-- States  dead -> ready
--
-- Dies before: they stay dead. Dies after: they are ready; the repeated call knows them by their due time.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: dead
-- include: declared
-- include: claim

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    seq = KEYS[6], dead = KEYS[7], dead_bytes = KEYS[8], errors = KEYS[9], armed = KEYS[10], notify = KEYS[11],
    claims = KEYS[12]}
local now, due = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and due and due <= now and #KEYS >= 12 and #ARGV % 4 == 2)
for i = 3, #ARGV, 4 do
    local queue, band, index = ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3])
    expect(band and index and index > 12 and is_declared(index, "ready:" .. queue .. ":" .. band)
        and is_declared(index + 1, "wake:" .. queue))
end
local slots = {}

-- What a task is that is not dead.
local function otherwise(record, run)
    local of = header(record or "")
    if run and run.state == "l" then
        return run.due == due and "ready" or "leased"
    elseif run and run.state == "b" then
        return "waiting"
    elseif of and (not run or run.state == "w") then
        return of == due and "ready" or "waiting"
    end
    return run and ended_as(run) or "unknown"
end

local function redrive(id, queue, band, index)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    local _, of, before = header(record or "")
    if not of or not run or run.state ~= "x" then
        return otherwise(record, run)
    elseif of ~= band then
        return bucket_member(run.due, of, before)
    end
    if queue ~= before then
        drop_claim(keys, id, run)
    end
    leave_dead(keys, id, before)
    local seq = redis.call("INCR", keys.seq) % 4294967296
    redis.call("HDEL", keys.runs, id)
    redis.call("HSET", keys.records, id, record_anew(record, seq, due, queue))
    local slot = slots[index]
    if not slot then
        slot = {ready = KEYS[index], wake = KEYS[index + 1], queue = queue, band = band, entries = {}}
        slots[index] = slot
    end
    slot.entries[#slot.entries + 1] = entry(id, seq)
    return "ready"
end

local answers = {}
for i = 3, #ARGV, 4 do
    answers[#answers + 1] = redrive(ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2]), tonumber(ARGV[i + 3]))
end
for _, slot in pairs(slots) do
    append(keys, slot, now)
    redis.call("HINCRBY", keys.counts, slot.queue .. ":ready", #slot.entries)
end
return answers
