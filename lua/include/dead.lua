-- Dead tasks are looked over in steps of this length, so that many burials wake a scheduler once (see trim.lua).
local TRIM_MS = 5000

-- What a dead task takes, in bytes. Neither part changes while it is dead, so what was added is taken away again.
local function dead_size(keys, id)
    return redis.call("HSTRLEN", keys.records, id) + redis.call("HSTRLEN", keys.errors, id)
end

-- Puts a task among the dead; its error has been written. Who keeps their number within bounds looks soon.
local function enter_dead(keys, now, id)
    redis.call("ZADD", keys.dead, now, id)
    redis.call("INCRBY", keys.dead_bytes, dead_size(keys, id))
    local trim = (math.floor(now / TRIM_MS) + 1) * TRIM_MS
    redis.call("ZADD", keys.timetable, "LT", trim, "d")
    arm(keys, trim)
end

-- Takes a task from the dead; the caller says what state follows, and deals with record and run.
local function leave_dead(keys, id, queue)
    redis.call("ZREM", keys.dead, id)
    if redis.call("DECRBY", keys.dead_bytes, dead_size(keys, id)) <= 0 and redis.call("EXISTS", keys.dead) == 0 then
        redis.call("DEL", keys.dead_bytes)
    end
    redis.call("HDEL", keys.errors, id)
    redis.call("HINCRBY", keys.counts, queue .. ":dead", -1)
end
