-- sweep: forgets done and cancelled tasks that have been remembered long enough.
--
-- KEYS  1 runs, 2 timetable, 3 finished, 4 armed, 5 notify, 6 claims
-- ARGV  1 now in ms, 2 how many at most
-- Output  head of the timetable
-- Cost  O(tasks forgotten)
-- States  done -> none, cancelled -> none
--
-- Dies before: the next scheduler sweeps. Dies after: they are forgotten.

-- include: expect
-- include: record
-- include: run
-- include: arm
-- include: claim
-- include: head

local STEP_MS, AGAIN_MS = 5000, 30000
local keys = {runs = KEYS[1], timetable = KEYS[2], finished = KEYS[3], armed = KEYS[4], notify = KEYS[5],
    claims = KEYS[6]}
local now, most = tonumber(ARGV[1]), tonumber(ARGV[2])
expect(now and most and most > 0 and #KEYS == 6)

local forgotten = 0
-- What is too short to be a memory, which no oncue has written, goes at once.
local function parts(memory)
    if #memory < 6 then
        return 0, ""
    end
    return (struct.unpack(">I6", memory)), memory:sub(7)
end

-- Whether a finished task holds its key for a while longer; then it is remembered on, in steps, behind the others.
-- Otherwise its claim ends with its memory, unless another task has the key by now.
local function still_claims(id, run)
    local _, field = extras(run.nonce)
    local ends, holder = claim_parts(field and redis.call("HGET", keys.claims, field))
    if holder ~= id then
        return false
    elseif field:sub(1, 1) == "u" and run.state == "d" and ends > now then
        run.due = math.min(ends, now + AGAIN_MS)
        redis.call("HSET", keys.runs, id, run_text(run))
        redis.call("RPUSH", keys.finished, struct.pack(">I6", run.due) .. id)
        return true
    end
    redis.call("HDEL", keys.claims, field)
    return false
end

for _, memory in ipairs(redis.call("LRANGE", keys.finished, 0, most - 1)) do
    local keep, id = parts(memory)
    local text = redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    -- An id of the caller's choice may be in use again by now, or have been finished again: then this memory is of
    -- nothing, and must not keep those behind it waiting.
    local counts = run and ended_as(run) and run.due == keep
    if counts and keep > now then
        break
    elseif counts and not still_claims(id, run) then
        redis.call("HDEL", keys.runs, id)
    end
    forgotten = forgotten + 1
end
if forgotten > 0 then
    redis.call("LTRIM", keys.finished, forgotten, -1)
end

local first = redis.call("LINDEX", keys.finished, 0)
if first then
    local again = math.ceil(parts(first) / STEP_MS) * STEP_MS
    redis.call("ZADD", keys.timetable, again, "f")
    arm(keys, again)
else
    redis.call("ZREM", keys.timetable, "f")
end
return head(keys)
