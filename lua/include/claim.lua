-- A claim: which task was made for a key, and an instant that goes with it: until when it holds beyond the task's end
-- (unique.lua), or the latest due time (debounce.lua). What holds is decided by the state of the task alone.
local function claim_parts(text)
    if not text or #text < 7 then
        return 0, nil
    end
    return (struct.unpack(">I6", text)), text:sub(7)
end

-- The task that holds a claim: its state ("waiting", "leased", "done", or nil for what holds nothing any more), its
-- record, its run if it has one, and the nonce of the call that made it or changed it last.
local function claimant(keys, id)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    local due, _, _, _, nonce = header(record or "")
    if run and run.state ~= "w" then
        local state = run.state == "l" and "leased" or run.state == "d" and "done" or nil
        return state, record, run, run.nonce
    end
    return due and "waiting" or nil, record, run, nonce
end
