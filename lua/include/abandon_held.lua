-- Ends a task in hand as cancelled, to be remembered until "keep" in ms; what waits for its end is let go.
local function abandon_held(keys, queue, band, id, run, now, keep)
    run.state = "c"
    finish(keys, {{id, run}}, keep)
    redis.call("HDEL", keys.errors, id)
    end_lease(keys, queue, band, id, "cancelled")
    follow(keys, {id}, now)
end
