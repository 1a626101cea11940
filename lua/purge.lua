-- purge: dead tasks are forgotten for good; they count as cancelled.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 dead, 6 dead_bytes, 7 errors, 8 finished, 9 armed, 10 notify
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms; then ids
-- Output  for each task: 1 purged (now or before), 0 it is not dead
-- Cost  O(tasks given), each O(log dead)
-- States  dead -> cancelled
--
-- Dies before: they stay. Dies after: the repeated call finds their marks and answers 1.

-- include: expect
-- include: record
-- include: run
-- include: arm
-- include: finish
-- include: dead
-- include: purge_dead

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], dead = KEYS[5],
    dead_bytes = KEYS[6], errors = KEYS[7], finished = KEYS[8], armed = KEYS[9], notify = KEYS[10]}
local now, remembered = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and remembered and #KEYS == 10)

local answers = {}
for i = 3, #ARGV do
    local text = redis.call("HGET", keys.runs, ARGV[i])
    local purged = text and text:sub(1, 1) == "p" or purge_dead(keys, ARGV[i], now + remembered)
    answers[#answers + 1] = purged and 1 or 0
end
return answers
