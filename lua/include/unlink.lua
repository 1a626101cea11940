-- Takes a blocked task out of its line: what waits for it waits for its predecessor from now on. The run of a blocked
-- task names the predecessor where others have a nonce.
local function unlink(keys, id, run)
    local before, after = run.nonce, redis.call("HGET", keys.followers, id)
    redis.call("HDEL", keys.followers, before, id)
    if after then
        link(keys, before, after)
    end
    run.nonce = ""
end
