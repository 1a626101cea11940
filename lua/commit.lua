-- commit: a task in hand is done, together with the writes of its handler; with a lost lease, neither.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 finished, 6 errors, 7 armed, 8 notify, 9 followers;
--       then the keys of the handler's writes
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms, 3 id, 4 token, 5 queue, 6 band;
--       then for each command of the handler: how many words, the words
-- Output  {1, answers of the commands}: done by this call; {1} alone: done before by this token, and nothing is done
--         twice; {0}: the lease is lost, and nothing has happened
-- Cost  O(commands given), and what they cost
-- States  leased -> done, blocked -> delayed
--
-- A command that the server refuses ends the call with its error: those before it stay, the task does not become done.
-- Dies before: the lease ends, the task runs again. Dies after: the repeated call finds its own token.

-- include: expect
-- include: run
-- include: members
-- include: arm
-- include: held
-- include: finish
-- include: follow

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], finished = KEYS[5],
    errors = KEYS[6], armed = KEYS[7], notify = KEYS[8], followers = KEYS[9]}
local now, remembered, id = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
expect(now and remembered and KEYS[9] and tonumber(ARGV[4]) and tonumber(ARGV[6]))

local declared = {}
for n = 10, #KEYS do
    declared[KEYS[n]] = true
end
local commands, at = {}, 7
while ARGV[at] do
    local size, names = tonumber(ARGV[at]), false
    expect(size and size > 0 and size % 1 == 0 and ARGV[at + size])
    local command = {unpack(ARGV, at + 1, at + size)}
    for n = 2, size do
        names = names or declared[command[n]]
    end
    expect(names)
    commands[#commands + 1], at = command, at + size + 1
end

local run, left = held_run(keys, id, ARGV[4])
if not run then
    return {left == "d" and 1 or 0}
end
local answers = {}
for n, command in ipairs(commands) do
    answers[n] = redis.call(unpack(command))
end
run.state = "d"
finish(keys, {{id, run}}, now + remembered)
redis.call("HDEL", keys.errors, id)
end_lease(keys, ARGV[5], ARGV[6], id, "done")
follow(keys, {id}, now)
return {1, answers}
