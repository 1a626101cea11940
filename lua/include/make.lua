-- Writes a task of a schedule: ready, or blocked behind another one. What was to follow that one follows the new one.
local function make(keys, name, now, id, record, behind)
    local due, band, queue = header(record)
    local seq = redis.call("INCR", keys.seq) % 4294967296
    local state = "blocked"
    redis.call("HSET", keys.records, id, record:sub(1, 1) .. struct.pack(">I4", seq) .. record:sub(6))
    if behind then
        local run = {state = "b", token = 0, attempts = 0, failed = 0, lost = 0, throttled = 0, due = due,
            nonce = behind}
        local after = redis.call("HGET", keys.followers, behind)
        redis.call("HSET", keys.runs, id, run_text(run))
        link(keys, behind, follower(due, lone_member(queue, band, id, seq)))
        link(keys, id, after or follower(0, "e" .. name))
    else
        state = place(keys, {ready = keys.ready, wake = keys.wake}, now, due, band, queue, id, seq)
    end
    redis.call("HINCRBY", keys.counts, queue .. ":" .. state, 1)
    return state
end
