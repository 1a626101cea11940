-- Finished tasks are remembered in steps of this length, so that forgetting them wakes a scheduler once per step.
local STEP_MS = 5000

-- Marks tasks, given as pairs of id and run, as done or cancelled, to be forgotten (by sweep.lua) at "keep" in ms:
-- until then a repeated call learns what became of them. The mark carries that instant in place of a due time.
local function finish(keys, pairs_given, keep)
    local ids, marks, memories = {}, {}, {}
    local instant = struct.pack(">I6", keep)
    for n, pair in ipairs(pairs_given) do
        local id, run = pair[1], pair[2]
        run.due = keep
        ids[n] = id
        marks[2 * n - 1], marks[2 * n] = id, run_text(run)
        memories[n] = instant .. id
    end
    redis.call("HDEL", keys.records, unpack(ids))
    redis.call("HSET", keys.runs, unpack(marks))
    if redis.call("RPUSH", keys.finished, unpack(memories)) == #memories then
        local sweep = math.ceil(keep / STEP_MS) * STEP_MS
        -- Sooner where a task lets its key go before.
        redis.call("ZADD", keys.timetable, "LT", sweep, "f")
        arm(keys, sweep)
    end
end
