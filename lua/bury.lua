-- bury: tasks that failed for good go among the dead, with their error.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 dead, 5 errors, 6 records, 7 dead_bytes, 8 armed, 9 notify,
--       10 followers
-- ARGV  1 now in ms; then for each task: id, token, queue, band, error (JSON), and what is counted: "failed",
--       "throttled" or "nothing" (it was not run)
-- Output  for each task: 1 dead (now, or before by this token), 0 the lease is lost
-- Cost  O(tasks given), each O(log dead)
-- States  leased -> dead, blocked -> delayed
--
-- What waits for the end of these tasks is let go in the same step: a blocked task, or the next tick of a schedule.
-- Dies before: the lease ends, the task runs again. Dies after: the repeated call finds its own token and answers 1.

-- include: expect
-- include: run
-- include: members
-- include: arm
-- include: held
-- include: note_failure
-- include: dead
-- include: follow

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], dead = KEYS[4], errors = KEYS[5],
    records = KEYS[6], dead_bytes = KEYS[7], armed = KEYS[8], notify = KEYS[9],
    followers = KEYS[10]}
local now = tonumber(ARGV[1])
expect(now and #KEYS == 10 and #ARGV % 6 == 1)
local COUNTED = {failed = true, throttled = true, nothing = true}
for i = 7, #ARGV, 6 do
    expect(COUNTED[ARGV[i]])
end

local ended = {}
local function bury(id, token, queue, band, failure, counted)
    local run, left = held_run(keys, id, token)
    if not run then
        return left == "x" and 1 or 0
    end
    run.state = "x"
    if counted == "nothing" then
        run.attempts = run.attempts - 1
    else
        run[counted] = run[counted] + 1
    end
    redis.call("HSET", keys.runs, id, run_text(run))
    note_failure(keys, id, failure)
    enter_dead(keys, now, id)
    end_lease(keys, queue, band, id, "dead")
    ended[#ended + 1] = id
    return 1
end

local answers = {}
for i = 2, #ARGV, 6 do
    answers[#answers + 1] = bury(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5])
end
follow(keys, ended, now)
return answers
