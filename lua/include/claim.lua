-- A claim: which task was made for a key, and an instant that goes with it: until when it holds beyond the task's end
-- (unique.lua), or the latest due time (debounce.lua). What holds is decided by the state of the task alone.
local function claim_parts(text)
    if not text or #text < 7 then
        return 0, nil
    end
    return (struct.unpack(">I6", text)), text:sub(7)
end

-- The claim of a mark that goes, goes with it, unless another task has the key by now.
local function drop_claim(keys, id, run)
    local _, field = extras(run.nonce)
    local _, holder = claim_parts(field and redis.call("HGET", keys.claims, field))
    if holder == id then
        redis.call("HDEL", keys.claims, field)
    end
end

-- The task that holds a claim: its state ("waiting", "leased", "done", or nil for what holds nothing any more), its
-- record, its run if it has one, and the nonce of the call that made it or changed it last. A task that has the id by
-- now, but was made for another key or for none, holds nothing.
local function claimant(keys, id, field)
    local record, text = redis.call("HGET", keys.records, id), redis.call("HGET", keys.runs, id)
    local run = text and run_parts(text)
    local due, _, _, _, nonce = header(record or "")
    local state = due and "waiting" or nil
    if run and run.state ~= "w" then
        state, nonce = run.state == "l" and "leased" or run.state == "d" and "done" or nil, run.nonce
    end
    if select(2, extras(nonce or "")) ~= field then
        return nil, nil, nil, nil
    end
    return state, record, run, nonce
end
