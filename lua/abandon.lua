-- abandon: tasks in hand end as cancelled, because their handlers say so.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 finished, 6 errors, 7 armed, 8 notify,
--       9 followers
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms; then for each task: id, token, queue, band
-- Output  for each task: 1 cancelled (now, or before by this token), 0 the lease is lost
-- Cost  O(tasks given)
-- States  leased -> cancelled, blocked -> delayed
--
-- Dies before: the lease ends, the task runs again. Dies after: the repeated call finds its own token and answers 1.

-- include: expect
-- include: run
-- include: members
-- include: arm
-- include: held
-- include: finish
-- include: follow
-- include: abandon_held

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], finished = KEYS[5],
    errors = KEYS[6], armed = KEYS[7], notify = KEYS[8], followers = KEYS[9]}
local now, remembered = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and remembered and #KEYS == 9 and #ARGV % 4 == 2)

local function abandon(id, token, queue, band)
    local run, left = held_run(keys, id, token)
    if not run then
        return left == "c" and 1 or 0
    end
    abandon_held(keys, queue, band, id, run, now, now + remembered)
    return 1
end

local answers = {}
for i = 3, #ARGV, 4 do
    answers[#answers + 1] = abandon(ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3])
end
return answers
