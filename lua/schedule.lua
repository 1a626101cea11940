-- schedule: writes new tasks, each into its page, the timetable or ready; a task whose id is there already is left as
-- it is, so a call may be repeated.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 seq, 7 armed, 8 notify, 9 claims;
--       10.. slots: a page's list; or bucket, ready and wake lists; or ready and wake lists; then, in the order of the
--       tasks, the key of the result of each one whose record has a nonce
-- ARGV  1 now in ms; then for each task: id, record with placement 0, index in KEYS of its slot
-- Output  for each task: 1 written, 0 there already (a repeated call, or the id is taken), -1 the id belongs to a task
--         of another call that is dead
-- Cost  O(tasks given)
-- States  none -> delayed, none -> ready, done -> delayed, done -> ready, cancelled -> delayed, cancelled -> ready
--
-- An id of the caller's choice may be used again when its task is done or cancelled: the new task takes the place of
-- the mark, and what the former one has left, a claim or a result, goes.
-- Dies before: nothing is written. Dies after: the tasks are placed, the producer's repeated call changes nothing.

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
    seq = KEYS[6], armed = KEYS[7], notify = KEYS[8], claims = KEYS[9]}
local now = tonumber(ARGV[1])
expect(now and #KEYS >= 9 and #ARGV % 3 == 1)

-- The slot at an index of KEYS, for a task due then: one for all tasks that share it.
local slots = {}
local function slot_at(due, band, queue, index)
    local slot = slots[index]
    if slot then
        return slot
    end
    if due > now and page_opens(due) > now then
        slot = {page = KEYS[index], due = due, entries = {}}
        expect(slot.page)
    elseif due > now then
        slot = {bucket = KEYS[index], ready = KEYS[index + 1], wake = KEYS[index + 2]}
        expect(slot.wake)
    else
        slot = {ready = KEYS[index], wake = KEYS[index + 1], band = band, queue = queue, entries = {}}
        expect(slot.wake)
    end
    slots[index] = slot
    return slot
end

-- A task that was done or cancelled leaves a mark for a while: a repeated call (same nonce) must not run it again,
-- a new call with the same id of the caller's choice may.
local function is_repeated(run, nonce)
    return ended_as(run) and (nonce == "" or nonce == run.nonce)
end

-- What was asked, side by side: a table for each task would cost more than its commands.
local ids, dues, bands, queues, nonces, placed_in, chosen = {}, {}, {}, {}, {}, {}, {}
for i = 2, #ARGV, 3 do
    local n, id, index = #ids + 1, ARGV[i], tonumber(ARGV[i + 2])
    local due, band, queue, _, nonce = header(ARGV[i + 1])
    -- What reserve.lua would not take: an id that no caller may choose, a queue that members cannot name.
    expect(due and band <= 9 and not id:find("[^%w._:@/+-]") and not queue:find(":", 1, true) and index and index > 9)
    ids[n], dues[n], bands[n], queues[n], nonces[n] = id, due, band, queue, nonce
    placed_in[n] = slot_at(due, band, queue, index)
    if nonce ~= "" then
        chosen[#chosen + 1] = id
    end
end
if #ids == 0 then
    return {}
end
-- The results come last in KEYS.
local results = {}
for n, id in ipairs(chosen) do
    local at = #KEYS - #chosen + n
    expect(at > 9 and is_declared(at, "result:" .. id))
    results[id] = KEYS[at]
end

local counted, answers = {delayed = {}, ready = {}}, {}
local runs = redis.call("HMGET", keys.runs, unpack(ids))
local seq = redis.call("INCRBY", keys.seq, #ids) - #ids

-- Writes the record with its placement, unless there is one; 1, 0 or -1 as the call answers.
local function write(id, record, nonce, placement, text)
    local run = text and run_parts(text)
    if run and is_repeated(run, nonce) then
        return 0
    end
    if redis.call("HSETNX", keys.records, id, record:sub(1, 1) .. placement .. record:sub(6)) == 0 then
        return run and run.state == "x" and nonce ~= "" and nonce ~= run.nonce and -1 or 0
    end
    if text or results[id] then
        take_id(keys, id, run, results[id])
    end
    return 1
end

for n = 1, #ids do
    local id, queue, slot = ids[n], queues[n], placed_in[n]
    local number = (seq + n) % 4294967296
    local placement = struct.pack(">I4", number)
    local answer = write(id, ARGV[3 * n], nonces[n], placement, runs[n])
    answers[n] = answer
    if answer == 1 then
        local entries, state = slot.entries, slot.page and "delayed" or "ready"
        if entries then
            entries[#entries + 1] = id .. placement
        else
            state = place(keys, slot, now, dues[n], bands[n], queue, id, number)
        end
        local of = counted[state]
        of[queue] = (of[queue] or 0) + 1
    end
end

for _, slot in pairs(slots) do
    if slot.entries and slot.entries[1] then
        append(keys, slot, now)
    end
end
for state, of in pairs(counted) do
    for queue, number in pairs(of) do
        redis.call("HINCRBY", keys.counts, queue .. ":" .. state, number)
    end
end
return answers
