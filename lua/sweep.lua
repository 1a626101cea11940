-- sweep: forgets done and cancelled tasks that have been remembered long enough.
--
-- KEYS  1 runs, 2 timetable, 3 finished, 4 armed, 5 notify, 6 claims, 7 holding
-- ARGV  1 now in ms, 2 how many at most
-- Output  head of the timetable
-- Cost  O(tasks whose time is over), each O(log of those that hold a key for longer)
-- States  done -> none, cancelled -> none
--
-- A done task that holds its key for longer than it is remembered is looked at twice, when its memory ends and when it
-- lets go; in between it stands in "holding" by that instant. Dies before: the next scheduler sweeps. Dies after: they
-- are forgotten.

-- include: expect
-- include: record
-- include: run
-- include: arm
-- include: claim
-- include: head

local STEP_MS = 5000
local keys = {runs = KEYS[1], timetable = KEYS[2], finished = KEYS[3], armed = KEYS[4], notify = KEYS[5],
    claims = KEYS[6], holding = KEYS[7]}
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and most and most > 0 and #KEYS == 7)

-- What is too short to be a memory, which no oncue has written, goes at once.
local function parts(memory)
    if #memory < 6 then
        return 0, ""
    end
    return (struct.unpack(">I6", memory)), memory:sub(7)
end

-- The mark of a task that was to be forgotten at that instant. An id of the caller's choice may be in use again by now,
-- or have been finished again: then what speaks of it is of nothing, and must not keep those behind it waiting.
local function mark(id, instant)
    local text = redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    return run and ended_as(run) and run.due == instant and run or nil
end

-- Forgets a task and its claim, unless another task has the key by now; or lets it hold its key for a while longer.
local function forget(id, run)
    local _, field = extras(run.nonce)
    local ends, holder = claim_parts(field and redis.call("HGET", keys.claims, field))
    if holder == id and field:sub(1, 1) == "u" and run.state == "d" and ends > now then
        run.due = ends
        redis.call("HSET", keys.runs, id, run_text(run))
        redis.call("ZADD", keys.holding, ends, id)
        return
    end
    drop_claim(keys, id, run)
    redis.call("HDEL", keys.runs, id)
end

local over = 0
for _, memory in ipairs(redis.call("LRANGE", keys.finished, 0, most - 1)) do
    local instant, id = parts(memory)
    local run = mark(id, instant)
    if run and instant > now then
        break
    elseif run then
        forget(id, run)
    end
    over = over + 1
end
if over > 0 then
    redis.call("LTRIM", keys.finished, over, -1)
end

local let_go = redis.call("ZRANGEBYSCORE", keys.holding, "-inf", now, "WITHSCORES", "LIMIT", 0, most - over)
for n = 1, #let_go, 2 do
    local id = let_go[n]
    local run = mark(id, tonumber(let_go[n + 1]))
    redis.call("ZREM", keys.holding, id)
    if run then
        forget(id, run)
    end
end

local first, holder = redis.call("LINDEX", keys.finished, 0), redis.call("ZRANGE", keys.holding, 0, 0, "WITHSCORES")
local again = math.min(first and parts(first) or math.huge, tonumber(holder[2]) or math.huge)
if again < math.huge then
    again = math.ceil(again / STEP_MS) * STEP_MS
    redis.call("ZADD", keys.timetable, again, "f")
    arm(keys, again)
else
    redis.call("ZREM", keys.timetable, "f")
end
return head(keys)
