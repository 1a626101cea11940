-- promote: moves what is due to ready: lone tasks one by one, small buckets by their entries, large ones by name.
--
-- KEYS  1 timetable, 2 counts, 3 bands, 4 stale, 5 armed, 6 notify;
--       7.. ready and wake lists, two for each queue and band; then buckets
-- ARGV  1 now in ms, 2 how many pairs of ready and wake lists; then queue and band of each; then each bucket's member
-- Output  head of the timetable
-- Cost  O(64 members), whatever is in the buckets
-- States  delayed -> ready
--
-- What is due but not declared stays for the next call, which the head tells about. All schedulers call it at the
-- same due time; the first moves, the others find nothing. Dies before: the others move it. Dies after: it is ready.

-- include: expect
-- include: arm
-- include: ready
-- include: head

-- A bucket of at most so many entries joins the ready list itself, since a worker takes from one segment per step.
local SMALL = 64
local keys = {timetable = KEYS[1], counts = KEYS[2], bands = KEYS[3], stale = KEYS[4], armed = KEYS[5],
    notify = KEYS[6]}
local now, pairs_given = tonumber(ARGV[1]), tonumber(ARGV[2])
local slots, buckets = {}, {}
expect(now and pairs_given and #ARGV >= 2 + 2 * pairs_given and #KEYS == 4 + #ARGV)
for i = 0, pairs_given - 1 do
    local queue, band = ARGV[3 + 2 * i], ARGV[4 + 2 * i]
    slots[band .. queue] = {ready = KEYS[7 + 2 * i], wake = KEYS[8 + 2 * i], queue = queue, band = tonumber(band),
        entries = {}, number = 0}
end
for i = 3 + 2 * pairs_given, #ARGV do
    buckets[ARGV[i]] = KEYS[7 + 2 * pairs_given + i - (3 + 2 * pairs_given)]
end

local function flush(slot)
    if #slot.entries > 0 then
        redis.call("RPUSH", slot.ready, unpack(slot.entries))
        slot.entries = {}
    end
end

local function hand_over(slot, bucket, member)
    local length = redis.call("LLEN", bucket)
    slot.number = slot.number + length - (tonumber(redis.call("HGET", keys.stale, member)) or 0)
    redis.call("HDEL", keys.stale, member)
    flush(slot)
    if length > SMALL then
        redis.call("RPUSH", slot.ready, member)
    elseif length > 0 then
        redis.call("RPUSH", slot.ready, unpack(redis.call("LRANGE", bucket, 0, -1)))
        redis.call("DEL", bucket)
    end
    slot.touched = slot.touched or length > 0
end

local gone = {}
for _, member in ipairs(redis.call("ZRANGEBYSCORE", keys.timetable, "-inf", now, "LIMIT", 0, 64)) do
    local kind = member:sub(1, 1)
    if kind == "+" then
        local band, queue, id = member:match("^(%d)([^:]+):(.+)$", 6)
        local slot = band and slots[band .. queue]
        if slot then
            slot.entries[#slot.entries + 1] = id .. member:sub(2, 5)
            slot.number = slot.number + 1
            slot.touched = true
            gone[#gone + 1] = member
        end
    elseif kind == "=" then
        local band, queue = member:match("^=%d+:(%d):(.+)$")
        local slot = band and slots[band .. queue]
        if slot and buckets[member] then
            hand_over(slot, buckets[member], member)
            gone[#gone + 1] = member
        end
    end
end

if #gone > 0 then
    redis.call("ZREM", keys.timetable, unpack(gone))
end
for _, slot in pairs(slots) do
    flush(slot)
    if slot.number ~= 0 then
        redis.call("HINCRBY", keys.counts, slot.queue .. ":delayed", -slot.number)
        redis.call("HINCRBY", keys.counts, slot.queue .. ":ready", slot.number)
    end
    if slot.touched then
        mark_band(keys, slot.queue, slot.band)
        wake_one(keys, slot.queue, slot.wake, now)
    end
end
return head(keys)
