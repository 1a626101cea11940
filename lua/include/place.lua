-- How many tasks of one instant stay plain members of the timetable before the next one opens a bucket: plain members
-- need no list of their own, buckets are handed over whole.
local LONE_MAX = 8

-- Puts the entries of a slot into its page, or makes them ready; slot: {page=, due=, entries=} or
-- {ready=, wake=, band=, queue=, entries=}.
local function append(keys, slot, now)
    local length = redis.call("RPUSH", slot.page or slot.ready, unpack(slot.entries))
    if not slot.page then
        mark_band(keys, slot.queue, slot.band)
        wake_one(keys, slot.queue, slot.wake, now)
    elseif length == #slot.entries then
        redis.call("ZADD", keys.timetable, page_opens(slot.due), page_member(slot.due))
        arm(keys, page_opens(slot.due))
    end
end

-- Puts a task where its due time belongs, and says which count it adds to. slot, as the caller declared: {page=} for
-- the far future; {bucket=, ready=, wake=} for the near one; {ready=, wake=} for a task that is due, or that opens no
-- bucket if it is not.
local function place(keys, slot, now, due, band, queue, id, seq)
    if slot.page then
        append(keys, {page = slot.page, due = due, entries = {entry(id, seq)}}, now)
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
    append(keys, {ready = slot.ready, wake = slot.wake, band = band, queue = queue, entries = {entry(id, seq)}}, now)
    return "ready"
end
