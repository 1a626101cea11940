-- The task that waits for the end of this one, and its run; nil where none does.
local function next_of(keys, id)
    local waiting = waiting_in(redis.call("HGET", keys.followers, id))
    local state, run = in_flight(keys, waiting)
    if state == "b" and run.nonce == id then
        return waiting, run
    end
    return nil
end

-- The last task of a schedule that has not ended, its state and its run; nil where none goes on.
local function last_run(keys, name)
    for n, first in ipairs(last_of(keys, name)) do
        local id, state, run = first, in_flight(keys, first)
        if state then
            -- Nothing waits for it, but what an older oncue has put there, which does not note that.
            local waiting, its_run = next_of(keys, id)
            while waiting and waiting ~= first do
                id, state, run = waiting, "b", its_run
                waiting, its_run = next_of(keys, id)
            end
            local after = id ~= first and (redis.call("HGET", keys.followers, id) or follower(0, "e" .. name))
            if after and not waiting_in(after) then
                -- Noted at once: who comes next need not walk there again, whether or not this one lines up.
                link(keys, id, after)
            end
            return id, state, run
        elseif first and n == 1 then
            -- An older oncue has ended it, which knows of no such note: it would be there for good.
            redis.call("HDEL", keys.followers, "=" .. name)
        end
    end
    return nil
end
