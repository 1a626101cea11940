-- Finished tasks are remembered in steps of this length, so that forgetting them wakes a scheduler once per step.
local STEP_MS = 5000

-- Marks a task as done or cancelled, to be forgotten (by sweep.lua) at "keep" in ms: until then a repeated call learns
-- what became of it. The mark carries that instant in place of a due time.
local function finish(keys, id, run, keep)
    run.due = keep
    redis.call("HDEL", keys.records, id)
    redis.call("HSET", keys.runs, id, run_text(run))
    if redis.call("RPUSH", keys.finished, struct.pack(">I6", keep) .. id) == 1 then
        local sweep = math.ceil(keep / STEP_MS) * STEP_MS
        redis.call("ZADD", keys.timetable, sweep, "f")
        arm(keys, sweep)
    end
end
