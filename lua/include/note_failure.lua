-- How many failures of a task are kept, the last first, one JSON text per line, and how many bytes they may take beside
-- the last one.
local MOST_FAILURES, MOST_FAILURE_BYTES = 10, 65536

-- Writes down a failure, in front of those before it.
local function note_failure(keys, id, failure)
    local before = redis.call("HGET", keys.errors, id)
    if before then
        local lines, bytes = {failure}, 0
        for line in before:gmatch("[^\n]+") do
            bytes = bytes + #line
            if #lines >= MOST_FAILURES or bytes > MOST_FAILURE_BYTES then
                break
            end
            lines[#lines + 1] = line
        end
        failure = table.concat(lines, "\n")
    end
    redis.call("HSET", keys.errors, id, failure)
end
