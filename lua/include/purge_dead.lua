-- Forgets a dead task: it counts as cancelled from now on, and leaves a mark that says so for a while. False if it is
-- not among the dead.
local function purge_dead(keys, id, keep)
    local text, record = redis.call("HGET", keys.runs, id), redis.call("HGET", keys.records, id)
    local run = text and run_parts(text)
    if not run or run.state ~= "x" then
        -- What only looks like a dead task is nobody's.
        redis.call("ZREM", keys.dead, id)
        return false
    end
    local _, _, queue = header(record or "")
    leave_dead(keys, id, queue or "")
    redis.call("HINCRBY", keys.counts, (queue or "") .. ":cancelled", 1)
    run.state = "p"
    finish(keys, {{id, run}}, keep)
    return true
end
