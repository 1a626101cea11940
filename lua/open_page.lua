-- open_page: puts the next tasks of a page into the timetable by their exact due times; entries of cancelled tasks go.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 stale, 7 armed, 8 notify, 9 the page;
--       10.. three for each bucket: bucket, ready and wake lists
-- ARGV  1 now in ms, 2 the page's member of the timetable, 3 how many entries at most; then for each bucket its member
-- Output  {references of the buckets that the next entries need ("=due:band:queue"), head of the timetable}
-- Cost  O(entries), and at most about 256 KiB of records read
-- States  delayed -> ready
--
-- Several schedulers may open one page: each entry is taken by one call. A caller that lacks a bucket's keys opens up
-- to there and learns what is needed. Dies between calls: the page keeps its member, the next scheduler goes on.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: place
-- include: head

local MOST_BYTES = 262144
local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    stale = KEYS[6], armed = KEYS[7], notify = KEYS[8]}
local now, member, most = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local page = tonumber((member or ""):sub(2))
local slots, needs, placed = {}, {}, {}
expect(now and page and most and most > 0 and #ARGV >= 3 and #KEYS == 9 + 3 * (#ARGV - 3))
for i = 4, #ARGV do
    local at = 10 + (i - 4) * 3
    slots[ARGV[i]] = {bucket = KEYS[at], ready = KEYS[at + 1], wake = KEYS[at + 2]}
end

local entries = redis.call("LRANGE", KEYS[9], 0, 2 * most - 1)
local names, placements = {}, {}
for i, text in ipairs(entries) do
    names[i], placements[i] = entry_parts(text)
end
local runs = entries[1] and redis.call("HMGET", keys.runs, unpack(names))

-- Records are read some at a time: as many as surely fit into the bytes left, by the largest seen.
local records, read, bytes, largest = {}, 0, 0, 4096

local function record_at(i)
    if i > read then
        local last = math.min(#names, read + math.max(1, math.floor((MOST_BYTES - bytes) / largest)))
        for n, record in ipairs(redis.call("HMGET", keys.records, unpack(names, i, last))) do
            records[read + n] = record
        end
        read = last
    end
    local record = records[i]
    if record then
        bytes, largest = bytes + #record, math.max(largest, #record)
    end
    return record
end

local function waiting_task(i)
    local record, text = record_at(i), runs[i]
    if not record then
        return nil
    end
    local due, band, queue, seq = header(record)
    local run = text and run_parts(text)
    due = run and run.due or due
    if not due or seq ~= placements[i] or run and run.state ~= "w" or math.floor(due / PAGE_MS) ~= page then
        return nil
    end
    return {due = due, band = band, queue = queue, id = names[i], seq = seq}
end

local taken, dropped = 0, 0
local moved = {}
for i = 1, #entries do
    local task = waiting_task(i)
    local name = task and bucket_member(task.due, task.band, task.queue)
    local slot = task and slots[name]
    if task and (not slot or taken >= most) then
        needs[name] = true
    elseif not next(needs) then
        taken = taken + 1
        if task then
            task.slot = slot
            moved[#moved + 1] = task
        else
            dropped = dropped + 1
        end
    end
    if bytes > MOST_BYTES then
        break
    end
end

if taken > 0 then
    redis.call("LTRIM", KEYS[9], taken, -1)
end
for _, task in ipairs(moved) do
    if place(keys, task.slot, now, task.due, task.band, task.queue, task.id, task.seq) == "ready" then
        placed[task.queue] = (placed[task.queue] or 0) + 1
    end
end
for queue, number in pairs(placed) do
    redis.call("HINCRBY", keys.counts, queue .. ":delayed", -number)
    redis.call("HINCRBY", keys.counts, queue .. ":ready", number)
end
if redis.call("EXISTS", KEYS[9]) == 0 then
    redis.call("ZREM", keys.timetable, member)
    redis.call("HDEL", keys.stale, member)
elseif dropped > 0 and redis.call("HINCRBY", keys.stale, member, -dropped) <= 0 then
    redis.call("HDEL", keys.stale, member)
end

local wanted = {}
for name in pairs(needs) do
    wanted[#wanted + 1] = name
end
return {wanted, head(keys)}
