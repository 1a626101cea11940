-- schedule_one: writes one new task into a page that is there already, which is what most calls do; everything else is
-- left to schedule.lua, which does the same and more for twice the time.
--
-- KEYS  1 records, 2 runs, 3 counts, 4 seq, 5 the page's list; then, if the record has a nonce, the key of
--       the task's result
-- ARGV  1 id, 2 record with placement 0
-- Output  1 written, 0 there already (a repeated call, or the id is taken), -1 nothing written, ask schedule.lua: the
--         page holds nothing yet, or the id is one that was in use before
-- Cost  O(1)
-- States  none -> delayed
--
-- A page that holds something has its member in the timetable, so whoever opens it finds the new entry: no clock is
-- needed. A result that a former task of the same id has left goes. Dies before: nothing is written. Dies after: the
-- task is placed, the repeated call changes nothing.

-- include: expect
-- include: declared
local keys = {records = KEYS[1], runs = KEYS[2], counts = KEYS[3], seq = KEYS[4], page = KEYS[5]}
local id, record = ARGV[1], ARGV[2]
expect(#ARGV == 2 and #record >= 13)
local flags = record:byte(1) % 16
local is_chosen = flags % 2 == 1 or flags >= 8
expect(#KEYS == (is_chosen and 6 or 5) and (not is_chosen or is_declared(6, "result:" .. id)))
local band, length = record:byte(12, 13)
local queue = record:sub(14, 13 + length)
expect(band <= 9 and #queue == length and not id:find("[^%w._:@/+-]") and not queue:find(":", 1, true))

if redis.call("HEXISTS", keys.runs, id) == 1 then
    return -1
end
local placement = struct.pack(">I4", redis.call("INCR", keys.seq) % 4294967296)
if redis.call("RPUSHX", keys.page, id .. placement) == 0 then
    return -1
end
if redis.call("HSETNX", keys.records, id, record:sub(1, 1) .. placement .. record:sub(6)) == 0 then
    -- A repeated call is rare: to undo its entry costs less than to look for the page each time.
    redis.call("RPOP", keys.page)
    return 0
end
redis.call("HINCRBY", keys.counts, queue .. ":delayed", 1)
if is_chosen then
    redis.call("DEL", KEYS[6])
end
return 1
