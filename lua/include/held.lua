-- The run in a text of the hash "runs", if it is leased under this fencing token, else nil; and then the state in which
-- this very token left the task, by which a repeated call knows itself, or nil if the lease is lost.
local function held_by(text, token)
    local run = text and run_parts(text)
    if not run or run.token ~= tonumber(token) then
        return nil, nil
    end
    if run.state == "l" then
        return run, nil
    end
    return nil, run.state
end

local function held_run(keys, id, token)
    return held_by(redis.call("HGET", keys.runs, id), token)
end

-- Ends the lease itself; the caller says what state follows.
local function end_lease(keys, queue, band, id, state)
    redis.call("ZREM", keys.timetable, lease_member(queue, band, id))
    redis.call("HINCRBY", keys.counts, queue .. ":leased", -1)
    redis.call("HINCRBY", keys.counts, queue .. ":" .. state, 1)
end
