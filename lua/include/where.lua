-- Where a waiting task (delayed or ready) stands: "lone", "bucket", "page" or "ready", and the name that the stale
-- count uses for that list. "opening": its page ought to be open, so the task may be on either side of that hand-over;
-- the caller opens the rest of the page first and asks again.
local function where(keys, now, due, band, queue, id, seq)
    if redis.call("ZSCORE", keys.timetable, lone_member(queue, band, id, seq)) then
        return "lone"
    end
    local bucket = bucket_member(due, band, queue)
    local in_bucket = redis.call("ZSCORE", keys.timetable, bucket)
    if redis.call("ZSCORE", keys.timetable, page_member(due)) then
        if in_bucket or page_opens(due) <= now then
            return "opening"
        end
        return "page", page_member(due)
    end
    if in_bucket then
        return "bucket", bucket
    end
    return "ready"
end
