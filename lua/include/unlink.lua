-- Takes a blocked task out of its line: what waits for it waits for its predecessor from now on. The run of a blocked
-- task names the predecessor where others have a nonce.
local function unlink(keys, id, run)
    local before, after = run.nonce, redis.call("HGET", keys.followers, id)
    redis.call("HDEL", keys.followers, before, id)
    if after then
        redis.call("HSET", keys.followers, before, after)
        local waiting = after:match("^%+.....[^:]+:(.+)$", 7)
        local text = waiting and redis.call("HGET", keys.runs, waiting)
        if text and text:sub(1, 1) == "b" then
            redis.call("HSET", keys.runs, waiting, text:sub(1, 21) .. before)
        end
    end
    run.nonce = ""
end
