-- renew: leases of tasks in hand last longer.
--
-- KEYS  1 runs, 2 timetable
-- ARGV  1 now in ms, 2 lease in ms; then for each task: id, token, queue, band
-- Output  for each task: 1 renewed, 2 renewed, and its cancel is wished, 0 the lease is lost
-- Cost  O(tasks given), each O(log timetable)
-- States  unchanged
--
-- A lease that lasts longer already stays so. Dies before or after: the lease ends at the old or the new instant. Later
-- than armed schedulers expect is no harm: they look, find nothing due and sleep on.

-- include: expect
-- include: run
-- include: members
-- include: held

local keys = {runs = KEYS[1], timetable = KEYS[2]}
local ends = tonumber(ARGV[1]) + tonumber(ARGV[2])
expect(#KEYS == 2 and #ARGV % 4 == 2)

local answers = {}
for i = 3, #ARGV, 4 do
    local run = held_run(keys, ARGV[i], ARGV[i + 1])
    if run then
        redis.call("ZADD", keys.timetable, "XX", "GT", ends, lease_member(ARGV[i + 2], ARGV[i + 3], ARGV[i]))
    end
    answers[#answers + 1] = run and (run.wished and 2 or 1) or 0
end
return answers
