-- Gives an id to a new task. Of a former one that is done or cancelled nothing stays: its mark, which "before" is if it
-- can be read, goes with its claim; and its result, which may be kept for longer than the mark.
local function take_id(keys, id, before, result)
    if before then
        drop_claim(keys, id, before)
    end
    redis.call("HDEL", keys.runs, id)
    if result then
        redis.call("DEL", result)
    end
end
