-- trim: keeps the dead within bounds of age, number and bytes, by purging the oldest.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 dead, 6 dead_bytes, 7 errors, 8 finished, 9 armed, 10 notify
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms, 3 how many at most in this call; 4 the
--       oldest age in ms, 5 the largest number, 6 the most bytes of records and errors; each of them zero for no bound
-- Output  head of the timetable
-- Cost  O(tasks purged), each O(log dead)
-- States  dead -> cancelled
--
-- Several schedulers may have different bounds: the narrowest counts. Dies before: the next scheduler trims. Dies
-- after: what is beyond the bounds has gone, or the rest of it is due at once.

-- include: expect
-- include: record
-- include: run
-- include: arm
-- include: finish
-- include: dead
-- include: purge_dead
-- include: head

local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], dead = KEYS[5],
    dead_bytes = KEYS[6], errors = KEYS[7], finished = KEYS[8], armed = KEYS[9], notify = KEYS[10]}
local now, remembered, most = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local age, number, bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
expect(now and remembered and most and most > 0 and age and number and bytes and #KEYS == 10)

-- The oldest dead task with its instant, if it is beyond a bound; else nil, and the instant at which it will be.
local function beyond()
    local oldest = redis.call("ZRANGE", keys.dead, 0, 0, "WITHSCORES")
    if not oldest[1] then
        return nil, nil
    end
    local ends = age > 0 and tonumber(oldest[2]) + age or math.huge
    if ends <= now or number > 0 and redis.call("ZCARD", keys.dead) > number
        or bytes > 0 and (tonumber(redis.call("GET", keys.dead_bytes)) or 0) > bytes then
        return oldest[1], now
    end
    return nil, ends
end

local id, next_look = beyond()
while id and most > 0 do
    purge_dead(keys, id, now + remembered)
    most = most - 1
    id, next_look = beyond()
end
if next_look and next_look < math.huge then
    next_look = id and now or math.ceil(next_look / TRIM_MS) * TRIM_MS
    redis.call("ZADD", keys.timetable, next_look, "d")
    arm(keys, next_look)
else
    redis.call("ZREM", keys.timetable, "d")
end
return head(keys)
