-- Takes a blocked task out of its line: what waits for it waits for its predecessor from now on. The run of a blocked
-- task names the predecessor where others have the nonce of their record, which a repeated call looks for in its mark.
local function unlink(keys, id, run, nonce)
    local before, after = run.nonce, redis.call("HGET", keys.followers, id)
    redis.call("HDEL", keys.followers, before, id)
    if after then
        link(keys, before, after)
    end
    run.nonce = nonce or ""
end
