-- The state of a task that has not ended, as in its run ("w" where it has none), and that run; nil for one that is
-- done, dead, cancelled or unknown. Asked of the task itself: there is no mark of a run going on that could go stale.
local function in_flight(keys, id)
    if not id or redis.call("HEXISTS", keys.records, id) == 0 then
        return nil
    end
    local text = redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    if run and run.state == "x" then
        return nil
    end
    return run and run.state or "w", run
end
