-- retry: tasks that were run and have to run again are delayed, until the time that the worker says; those whose cancel
-- is wished end as cancelled.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 bands, 6 errors, 7 armed, 8 notify, 9 finished, 10 followers;
--       11.. slots: a page's list (due over a page ahead), or ready and wake lists
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms; then for each task: id, token, queue, band, next
--       due time in ms, error (JSON), index in KEYS of its slot, and what is counted: "failed", "throttled", or
--       "nothing" (then it was no attempt, and has no error)
-- Output  for each task: 1 delayed or cancelled (now, or before by this token), 0 the lease is lost
-- Cost  O(tasks given)
-- States  leased -> delayed, leased -> ready, leased -> cancelled, blocked -> delayed
--
-- Dies before: the lease ends, the task runs again. Dies after: the repeated call finds its own token and answers 1.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: held
-- include: note_failure
-- include: finish
-- include: follow
-- include: abandon_held

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], bands = KEYS[5],
    errors = KEYS[6], armed = KEYS[7], notify = KEYS[8], finished = KEYS[9], followers = KEYS[10]}
local now, remembered = tonumber(ARGV[1]), tonumber(ARGV[2])
local COUNTED = {failed = true, throttled = true, nothing = true}
expect(now and remembered and #KEYS >= 10 and #ARGV % 8 == 2)
for i = 3, #ARGV, 8 do
    local due, index = tonumber(ARGV[i + 4]), tonumber(ARGV[i + 6])
    expect(due and index and index > 10 and KEYS[due > now and page_opens(due) > now and index or index + 1])
    expect(COUNTED[ARGV[i + 7]])
end

local function retry(id, token, queue, band, due, failure, index, counted)
    local run, left = held_run(keys, id, token)
    local record = run and redis.call("HGET", keys.records, id)
    if not record then
        return (left == "w" or left == "c") and 1 or 0
    elseif run.wished then
        abandon_held(keys, queue, band, id, run, now, now + remembered)
        return 1
    end
    local _, _, _, seq = header(record)
    seq = seq or 0
    local far = due > now and page_opens(due) > now
    local slot = far and {page = KEYS[index]} or {ready = KEYS[index], wake = KEYS[index + 1]}
    run.state, run.due = "w", due
    if counted == "nothing" then
        run.attempts = run.attempts - 1
    else
        run[counted] = run[counted] + 1
        note_failure(keys, id, failure)
    end
    redis.call("HSET", keys.runs, id, run_text(run))
    end_lease(keys, queue, band, id, place(keys, slot, now, due, tonumber(band), queue, id, seq))
    return 1
end

local answers = {}
for i = 3, #ARGV, 8 do
    answers[#answers + 1] = retry(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], tonumber(ARGV[i + 4]), ARGV[i + 5],
        tonumber(ARGV[i + 6]), ARGV[i + 7])
end
return answers
