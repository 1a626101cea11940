-- What follows the end of a task stands under its id in the hash "followers": six bytes of number and a member. Of a
-- blocked task, that is the lone member of the timetable that it will be, with its due time. Behind the last of a line
-- stands what names the schedule: its next tick ("t<schedule>"), with the time in ms from the end to that tick, or
-- "e<schedule>" where no tick waits. And under "=<schedule>" stands the id of that last one, for the schedule to find:
-- any of a line may end or be cancelled at any time, by scripts that have no other key of the schedule.
local function follower(number, member)
    return struct.pack(">I6", number) .. member
end

-- The id of the blocked task that a follower is, or nil.
local function waiting_in(text)
    return text and text:match("^%+.....[^:]+:(.+)$", 7)
end

-- Puts what follows behind a task, which has no other follower: a blocked task learns which one it waits for.
local function link(keys, before, text)
    redis.call("HSET", keys.followers, before, text)
    if text:sub(7, 7) ~= "+" then
        redis.call("HSET", keys.followers, "=" .. text:sub(8), before)
        return
    end
    local waiting = waiting_in(text)
    local run = waiting and redis.call("HGET", keys.runs, waiting)
    if run and run:sub(1, 1) == "b" then
        redis.call("HSET", keys.runs, waiting, run:sub(1, 21) .. before)
    end
end

-- The ids among which the last task of a schedule's line is: the one that is noted as that, and the one that was made
-- last, behind which no other has lined up yet.
local function last_of(keys, name)
    return {redis.call("HGET", keys.followers, "=" .. name), redis.call("HGET", keys.schedule, "task")}
end
