-- What changes about a task, from its first reservation on (or as the mark that a cancelled or done one leaves):
-- state "l" leased, "w" waiting again (delayed or ready), "x" dead, "d" done, "c" cancelled, "e" cancelled because it
-- had expired, "p" cancelled because it was purged from the dead, "b" blocked; "L" is "l" of a task whose cancel is
-- wished ("wished"); the last fencing token; how often it was reserved, failed and lost; its due time
-- in ms; how often it was throttled; the nonce of its record, or of a blocked task the id of the one that it waits for.
-- Nil for what is too short or in no state, which no oncue has written.
local STATES = {l = "l", w = "w", x = "x", d = "d", c = "c", e = "e", p = "p", b = "b", L = "l"}

local function run_parts(text)
    if #text < 21 or not STATES[text:sub(1, 1)] then
        return nil
    end
    local run = {}
    run.state, run.token, run.attempts, run.failed, run.lost, run.due, run.throttled =
        struct.unpack(">c1I6I2I2I2I6I2", text)
    run.nonce = text:sub(22)
    run.wished = STATES[run.state] ~= run.state
    run.state = STATES[run.state]
    return run
end

-- The wish ends with the running.
local function run_text(run)
    local state = run.wished and run.state == "l" and "L" or run.state
    return struct.pack(">c1I6I2I2I2I6I2", state, run.token, run.attempts, run.failed, run.lost, run.due,
        run.throttled) .. run.nonce
end

-- "done" or "cancelled" of a run that is the mark of a finished task, else nil.
local function ended_as(run)
    if run.state == "d" then
        return "done"
    end
    return (run.state == "c" or run.state == "e" or run.state == "p") and "cancelled" or nil
end
