-- schedule: writes new tasks, each into its page, the timetable or ready; a task whose id is there already is left as
-- it is, so a call may be repeated.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 seq, 7 armed, 8 notify;
--       9.. slots: a page's list; or bucket, ready and wake lists; or ready and wake lists
-- ARGV  1 now in ms; then for each task: id, record with placement 0, index in KEYS of its slot
-- Output  for each task: 1 written, 0 there already (a repeated call, or the id is taken), -1 the id belongs to a task
--         of another call that is dead
-- Cost  O(tasks given)
--
-- Dies before: nothing is written. Dies after: the tasks are placed, the producer's repeated call changes nothing.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    seq = KEYS[6], armed = KEYS[7], notify = KEYS[8]}
local now = tonumber(ARGV[1])
expect(now and #KEYS >= 8 and #ARGV % 3 == 1)

local function slot_at(due, index)
    if due > now and page_opens(due) > now then
        expect(KEYS[index])
        return {page = KEYS[index]}
    elseif due > now then
        expect(KEYS[index + 2])
        return {bucket = KEYS[index], ready = KEYS[index + 1], wake = KEYS[index + 2]}
    end
    expect(KEYS[index + 1])
    return {ready = KEYS[index], wake = KEYS[index + 1]}
end

-- A task that was done or cancelled leaves a mark for a while: a repeated call (same nonce) must not run it again,
-- a new call with the same id of the caller's choice may.
local function is_repeated(mark, nonce)
    local run = mark and run_parts(mark)
    return run and (nonce == "" or nonce == run.nonce)
end

local added, counted, answers = {}, {}, {}
for i = 2, #ARGV, 3 do
    local id, record, index = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
    local due, band, queue, _, nonce = header(record)
    -- An id that starts like a reference would block its ready list.
    expect(due and band <= 9 and id:byte() ~= 61 and index and index > 8)
    local run = redis.call("HGET", keys.runs, id)
    local answer = 0
    if redis.call("HEXISTS", keys.records, id) == 1 then
        run = run and run_parts(run)
        if run and run.state == "x" and nonce ~= "" and nonce ~= run.nonce then
            answer = -1
        end
    elseif not is_repeated(run, nonce) then
        added[#added + 1] = {id, record, due, band, queue, slot_at(due, index), run}
        answer = 1
    end
    answers[#answers + 1] = answer
end

if #added > 0 then
    local seq = redis.call("INCRBY", keys.seq, #added) - #added
    for n, task in ipairs(added) do
        local id, record, due, band, queue, slot, mark = unpack(task, 1, 7)
        local placement = (seq + n) % 4294967296
        if redis.call("HSETNX", keys.records, id,
            record:sub(1, 1) .. struct.pack(">I4", placement) .. record:sub(6)) == 1 then
            if mark then
                redis.call("HDEL", keys.runs, id)
            end
            local count = queue .. ":" .. place(keys, slot, now, due, band, queue, id, placement)
            counted[count] = (counted[count] or 0) + 1
        end
    end
    for count, number in pairs(counted) do
        redis.call("HINCRBY", keys.counts, count, number)
    end
end
return answers
