-- How many tasks of one instant stay plain members of the timetable before the next one opens a bucket: plain members
-- need no list of their own, buckets are handed over whole.
local LONE_MAX = 8

-- Puts a task where its due time belongs, and says which count it adds to. slot, as the caller declared: {page=} for
-- the far future; {bucket=, ready=, wake=} for the near one; {ready=, wake=} for a task that is due, or that opens no
-- bucket if it is not.
local function place(keys, slot, now, due, band, queue, id, seq)
    if slot.page then
        if redis.call("RPUSH", slot.page, entry(id, seq)) == 1 then
            redis.call("ZADD", keys.timetable, page_opens(due), page_member(due))
            arm(keys, page_opens(due))
        end
        return "delayed"
    end
    if due > now then
        local member = bucket_member(due, band, queue)
        local open = slot.bucket and redis.call("ZSCORE", keys.timetable, member)
        -- A bucket's key without its member is a segment already: promoted by a clock slightly ahead of this one.
        local segment = slot.bucket and not open and redis.call("EXISTS", slot.bucket) == 1
        if open then
            redis.call("RPUSH", slot.bucket, entry(id, seq))
            return "delayed"
        end
        if not segment then
            if slot.bucket and redis.call("ZCOUNT", keys.timetable, due, due) >= LONE_MAX then
                redis.call("RPUSH", slot.bucket, entry(id, seq))
                redis.call("ZADD", keys.timetable, due, member)
            else
                redis.call("ZADD", keys.timetable, due, lone_member(queue, band, id, seq))
            end
            arm(keys, due)
            return "delayed"
        end
    end
    redis.call("RPUSH", slot.ready, entry(id, seq))
    mark_band(keys, queue, band)
    wake_one(keys, queue, slot.wake, now)
    return "ready"
end
