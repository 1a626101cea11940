-- release: tasks in hand go back to the head of ready, as if they had never been reserved; those whose cancel is wished
-- end as cancelled.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 bands, 6 errors, 7 armed, 8 notify, 9 finished, 10 followers;
--       11.. ready and wake lists, two for each task
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms; then for each task: id, token, queue, band
-- Output  for each task: 1 ready again or cancelled (now, or before by this token), 0 the lease is lost
-- Cost  O(tasks given)
-- States  leased -> ready, leased -> cancelled, blocked -> delayed
--
-- Dies before: the lease ends, the task is ready again then. Dies after: the repeated call answers 1.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: held
-- include: finish
-- include: follow
-- include: abandon_held

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], bands = KEYS[5],
    errors = KEYS[6], armed = KEYS[7], notify = KEYS[8], finished = KEYS[9], followers = KEYS[10]}
local now, remembered = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and remembered and #ARGV % 4 == 2 and #KEYS == 10 + (#ARGV - 2) / 2)

local function release(id, token, queue, band, ready, wake)
    local run, left = held_run(keys, id, token)
    local record = run and redis.call("HGET", keys.records, id)
    if not record then
        return (left == "w" or left == "c") and 1 or 0
    elseif run.wished then
        abandon_held(keys, queue, band, id, run, now, now + remembered)
        return 1
    end
    local _, _, _, seq = header(record)
    run.state, run.attempts = "w", run.attempts - 1
    redis.call("HSET", keys.runs, id, run_text(run))
    redis.call("LPUSH", ready, entry(id, seq or 0))
    end_lease(keys, queue, band, id, "ready")
    mark_band(keys, queue, tonumber(band))
    wake_one(keys, queue, wake, now)
    return 1
end

local answers, key = {}, 11
for i = 3, #ARGV, 4 do
    answers[#answers + 1] = release(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], KEYS[key], KEYS[key + 1])
    key = key + 2
end
return answers
