-- complete: tasks are done, some with a result.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 finished, 6 errors, 7 armed, 8 notify,
--       9 followers; then the key of each result
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms, 3 how many results; then for each result: which
--       task it belongs to (1 for the first), the result as it is kept, for how long in ms; then for each task (of at
--       most 1,000): id, token, queue, band
-- Output  for each task: 1 done (now, or before by this token), 0 the lease is lost
-- Cost  O(tasks given)
-- States  leased -> done, blocked -> delayed
--
-- What waits for the end of these tasks is let go in the same step: a blocked task, or the next tick of a schedule.
-- Dies before: the lease ends, the task runs again. Dies after: the repeated call finds its own token and answers 1.

-- include: expect
-- include: run
-- include: members
-- include: arm
-- include: held
-- include: finish
-- include: follow

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], finished = KEYS[5],
    errors = KEYS[6], armed = KEYS[7], notify = KEYS[8], followers = KEYS[9]}
local now, keep = tonumber(ARGV[1]), tonumber(ARGV[1]) + tonumber(ARGV[2])
-- More would not fit into the calls that write them down: refused here, not in the middle.
local LARGEST = 1000
local results = tonumber(ARGV[3])
expect(keep and results and #KEYS == 9 + results)
-- The last argument before those of the first task.
local base = 3 + 3 * results
local number = (#ARGV - base) / 4
expect(number % 1 == 0 and number >= 0 and number <= LARGEST)
for n = 1, results do
    local of, kept_ms = tonumber(ARGV[3 * n + 1]), tonumber(ARGV[3 * n + 3])
    expect(of and of >= 1 and of <= number and kept_ms and kept_ms > 0 and kept_ms % 1 == 0)
end

local ids, seen = {}, {}
for i = base + 1, #ARGV, 4 do
    ids[#ids + 1] = ARGV[i]
end
if #ids == 0 then
    return {}
end

local answers, members, failed, counted = {}, {}, {}, {}
local done, ended, over = {}, {}, {}
for n, text in ipairs(redis.call("HMGET", keys.runs, unpack(ids))) do
    local at = base + 4 * n - 3
    local id, queue = ARGV[at], ARGV[at + 2]
    local run, left = held_by(text, ARGV[at + 1])
    answers[n] = (run or left == "d") and 1 or 0
    if run and not seen[id] then
        seen[id], ended[n] = true, true
        run.state = "d"
        done[#done + 1] = {id, run}
        over[#over + 1] = id
        members[#members + 1] = lease_member(queue, ARGV[at + 3], id)
        counted[queue] = (counted[queue] or 0) + 1
        if run.failed > 0 or run.lost > 0 or run.throttled > 0 then
            failed[#failed + 1] = id
        end
    end
end

if #done > 0 then
    finish(keys, done, keep)
    redis.call("ZREM", keys.timetable, unpack(members))
    for queue, tasks in pairs(counted) do
        redis.call("HINCRBY", keys.counts, queue .. ":leased", -tasks)
        redis.call("HINCRBY", keys.counts, queue .. ":done", tasks)
    end
    follow(keys, over, now)
end
for n = 1, results do
    if ended[tonumber(ARGV[3 * n + 1])] then
        redis.call("SET", KEYS[9 + n], ARGV[3 * n + 2], "PX", ARGV[3 * n + 3])
    end
end
if #failed > 0 then
    redis.call("HDEL", keys.errors, unpack(failed))
end
return answers
