-- Takes the entry of a waiting task out of where it stands, as where.lua said; lists: the keys of its page and of its
-- bucket. Its record has gone, or has another placement number, before this is called.
local function take_out(keys, stands, name, lists, band, queue, id, seq)
    redis.call("HINCRBY", keys.counts, queue .. (stands == "ready" and ":ready" or ":delayed"), -1)
    if stands == "lone" then
        redis.call("ZREM", keys.timetable, lone_member(queue, band, id, seq))
    elseif stands ~= "ready" then
        sweep_list(keys, lists[stands], name, queue)
    end
end
