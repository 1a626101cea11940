-- What changes about a task, from its first reservation on (or as the mark that a cancelled or done one leaves):
-- state "l" leased, "w" waiting again (delayed or ready), "x" dead, "d" done, "c" cancelled; the last fencing token;
-- how often it was reserved, failed and lost; its due time in ms; the nonce of its record. Nil for what
-- is too short or in no state, which no oncue has written.
local STATES = {l = true, w = true, x = true, d = true, c = true}

local function run_parts(text)
    if #text < 19 or not STATES[text:sub(1, 1)] then
        return nil
    end
    local run = {}
    run.state, run.token, run.attempts, run.failed, run.lost, run.due = struct.unpack(">c1I6I2I2I2I6", text)
    run.nonce = text:sub(20)
    return run
end

local function run_text(run)
    return struct.pack(">c1I6I2I2I2I6", run.state, run.token, run.attempts, run.failed, run.lost, run.due) .. run.nonce
end
