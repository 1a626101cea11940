-- reserve: takes ready tasks under a lease: the highest band first, then the queue served least for its weight, then by
-- name. Tasks that have expired are dropped on the way as cancelled.
--
-- KEYS  1 records, 2 runs, 3 timetable, 4 counts, 5 bands, 6 served, 7 seq, 8 armed, 9 notify, 10 finished, 11 errors,
--       12 followers;
--       then for each queue its wake list and the ready lists of the bands declared; then segments
-- ARGV  1 now in ms, 2 lease in ms, 3 how many tasks at most (1,000 count as the most), 4 how many bytes of records at
--       most (one more is given), 5 how long finished tasks are remembered in ms, 6 how many queues; then for each
--       queue: name, weight, its declared bands as digits; then references of segments
-- Output  {first token (then one more for each task), tasks, needs, references}: tasks is flat: id, record, run as it
--         was before, empty the first time; needs: "<band><queue>" of a ready list or "=..." of a segment that the call
--         lacked; references: segments that the next call will need
--         what cannot be read, or lies in another queue's list, is given as a record of format 0 for this queue and
--         band, for the caller to bury
-- Cost  O(tasks asked for), and at most 1,000 cancelled entries on the way
-- States  ready -> leased, ready -> cancelled
--
-- Dies before: tasks and token stay. Dies after, or the reply is lost: the tasks come back when the lease ends.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: finish
-- include: follow

local MOST_ENTRIES = 1000
local keys = {records = KEYS[1], runs = KEYS[2], timetable = KEYS[3], counts = KEYS[4], bands = KEYS[5],
    served = KEYS[6], seq = KEYS[7], armed = KEYS[8], notify = KEYS[9],
    finished = KEYS[10], errors = KEYS[11], followers = KEYS[12]}
local now, lease, left, bytes_left = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local remembered = tonumber(ARGV[5])
local queues, segments, needs, needed, references = {}, {}, {}, {}, {}

-- More than LARGEST would not fit into the calls that write them down, once they have been taken out.
local LARGEST = 1000
expect(now and lease and left and bytes_left and remembered and tonumber(ARGV[6]))
left = math.min(left, LARGEST)

local at, key = 7, 13
for _ = 1, tonumber(ARGV[6]) do
    local queue = {name = ARGV[at], weight = tonumber(ARGV[at + 1]), wake = KEYS[key], ready = {}, number = 0,
        expired = 0}
    for digit in ARGV[at + 2]:gmatch("%d") do
        key = key + 1
        queue.ready[tonumber(digit)] = KEYS[key]
    end
    expect(queue.wake and queue.weight and queue.weight > 0)
    queue.mask = tonumber(redis.call("HGET", keys.bands, queue.name)) or 0
    queues[#queues + 1] = queue
    key, at = key + 1, at + 3
end
expect(#KEYS == key - 1 + #ARGV - (at - 1))
for i = at, #ARGV do
    segments[ARGV[i]] = KEYS[key + i - at]
end

local function need(name)
    if not needed[name] then
        needed[name] = true
        needs[#needs + 1] = name
    end
end

-- Fair queueing by virtual time: each task served adds 1/weight; a queue that was empty starts at the common clock, so
-- it neither pays for the past nor takes everything. Where one queue alone has tasks, the clock goes on with it.
local clock = #queues > 1 and (tonumber(redis.call("HGET", keys.served, "")) or 0)

local function served(queue)
    if not queue.served then
        queue.served = tonumber(redis.call("HGET", keys.served, queue.name)) or 0
    end
    return math.max(queue.served, clock)
end

local function highest_band()
    local mask = 0
    for _, queue in ipairs(queues) do
        mask = bit.bor(mask, queue.mask)
    end
    for band = 9, 0, -1 do
        if bit.band(mask, bit.lshift(1, band)) ~= 0 then
            return band
        end
    end
end

-- The queue to serve now, and whether it competes with another.
local function choose(band)
    local best, rivals = nil, 0
    for _, queue in ipairs(queues) do
        if bit.band(queue.mask, bit.lshift(1, band)) ~= 0 then
            rivals = rivals + 1
            if not best or clock and (served(queue) < served(best)
                or served(queue) == served(best) and queue.name < best.name) then
                best = queue
            end
        end
    end
    return best, rivals > 1
end

-- Up to "most" entries from the head of a ready list, all from one place; nil when a segment's key is missing.
local function pop(list, most)
    local entries = redis.call("LRANGE", list, 0, most - 1)
    if not entries[1] then
        return {}
    end
    if entries[1]:sub(1, 1) ~= "=" then
        local plain = 1
        while entries[plain + 1] and entries[plain + 1]:sub(1, 1) ~= "=" do
            plain = plain + 1
        end
        return redis.call("LPOP", list, plain), list
    end
    local reference = entries[1]
    local segment = segments[reference]
    if not segment then
        return nil, reference
    end
    local taken = redis.call("LPOP", segment, most) or {}
    if redis.call("EXISTS", segment) == 0 then
        redis.call("LPOP", list)
    end
    return taken, segment, list, reference
end

-- Entries given back go to the head of where they came from; a segment that had been emptied is named again.
local function give_back(entries, first, source, list, reference)
    local kept = {}
    for i = #entries, first, -1 do
        kept[#kept + 1] = entries[i]
    end
    if list and redis.call("EXISTS", source) == 0 then
        redis.call("LPUSH", list, reference)
    end
    redis.call("LPUSH", source, unpack(kept))
end

local tasks, ids, marks, members, dropped = {}, {}, {}, {}, {}
local ends = now + lease
-- How large records are here, by the largest seen: as many are read at once as surely fit into the bytes left.
local largest = 4096

local function take(queue, band, id, placement, record, text)
    -- An id that no caller could have chosen belongs to nobody.
    if not record or id:find("[^%w._:@/+-]") then
        return
    end
    local due, of, name, seq, nonce = header(record)
    if due and seq ~= placement then
        return
    elseif name ~= queue.name or of ~= band then
        due, nonce = due or now, nonce or ""
        record = struct.pack(">BI4I6BBc0", 0, 0, due, band, #queue.name, queue.name) .. record
    end
    local known = text and run_parts(text)
    local run = known
        or {state = "w", attempts = 0, failed = 0, lost = 0, throttled = 0, due = due, nonce = nonce}
    if run.state ~= "w" then
        return
    end
    local expires = #nonce > 8 and run.attempts == 0 and extras(nonce)
    if expires and expires < now then
        run.state, run.token = "e", run.token or 0
        dropped[#dropped + 1] = {id, run}
        queue.expired = queue.expired + 1
        return
    end
    local task = #tasks
    tasks[task + 1], tasks[task + 2], tasks[task + 3] = id, record, known and text or ""
    run.state, run.attempts = "l", run.attempts + 1
    ids[#ids + 1], marks[#marks + 1] = id, run
    members[2 * #ids - 1], members[2 * #ids] = ends, lease_member(queue.name, band, id)
    queue.number, left, bytes_left = queue.number + 1, left - 1, bytes_left - #record
    largest = math.max(largest, #record)
end

local function take_all(queue, band, entries, source, list, reference)
    local names, placements = {}, {}
    for i, text in ipairs(entries) do
        names[i], placements[i] = entry_parts(text)
    end
    local runs = redis.call("HMGET", keys.runs, unpack(names))
    local first = 1
    while first <= #names do
        if bytes_left < 0 then
            give_back(entries, first, source, list, reference)
            return
        end
        local last = math.min(#names, first + math.floor(bytes_left / largest))
        local records = redis.call("HMGET", keys.records, unpack(names, first, last))
        for i = first, last do
            if bytes_left < 0 then
                give_back(entries, i, source, list, reference)
                return
            end
            take(queue, band, names[i], placements[i], records[i - first + 1], runs[i])
        end
        first = last + 1
    end
end

local seen = 0
local band = highest_band()
while band and left > 0 and bytes_left >= 0 and seen < MOST_ENTRIES do
    local queue, rivalled = choose(band)
    local list = queue.ready[band]
    if not list then
        need(band .. queue.name)
        break
    end
    local before = queue.number
    local entries, source, of, reference = pop(list, math.min(left, rivalled and math.ceil(queue.weight) or 500))
    if not entries then
        need(source)
        break
    end
    seen = seen + #entries
    if #entries > 0 then
        take_all(queue, band, entries, source, of, reference)
    end
    if clock and queue.number > before then
        local start = served(queue)
        queue.served = start + (queue.number - before) / queue.weight
        clock = rivalled and start or queue.served
        queue.moved = true
    end
    if redis.call("EXISTS", list) == 0 then
        queue.mask = bit.band(queue.mask, bit.bnot(bit.lshift(1, band)))
        queue.cleared = true
        band = highest_band()
    end
end

if #dropped > 0 then
    finish(keys, dropped, now + remembered)
    for _, pair in ipairs(dropped) do
        follow(keys, {pair[1]}, now)
        redis.call("HDEL", keys.errors, pair[1])
    end
end
local token = 0
if #ids > 0 then
    token = redis.call("INCRBY", keys.seq, #ids) - #ids + 1
    local fields = {}
    for i, run in ipairs(marks) do
        run.token = token + i - 1
        fields[2 * i - 1], fields[2 * i] = ids[i], run_text(run)
    end
    redis.call("HSET", keys.runs, unpack(fields))
    redis.call("ZADD", keys.timetable, unpack(members))
    arm(keys, ends)
end

for _, queue in ipairs(queues) do
    if queue.expired > 0 then
        redis.call("HINCRBY", keys.counts, queue.name .. ":ready", -queue.expired)
        redis.call("HINCRBY", keys.counts, queue.name .. ":cancelled", queue.expired)
        redis.call("HINCRBY", keys.counts, queue.name .. ":expired", queue.expired)
    end
    if queue.number > 0 then
        redis.call("HINCRBY", keys.counts, queue.name .. ":ready", -queue.number)
        redis.call("HINCRBY", keys.counts, queue.name .. ":leased", queue.number)
    end
    if queue.moved then
        redis.call("HSET", keys.served, queue.name, queue.served, "", clock)
    end
    if queue.cleared then
        redis.call("HSET", keys.bands, queue.name, queue.mask)
    end
    if queue.mask == 0 then
        -- Nothing is left to wake anybody for: without this, the next waiting worker would wake in vain.
        redis.call("DEL", queue.wake)
        redis.call("ZREM", keys.timetable, "g" .. queue.name)
    else
        wake_one(keys, queue.name, queue.wake, now)
        for digit, list in pairs(queue.ready) do
            if bit.band(queue.mask, bit.lshift(1, digit)) ~= 0 then
                for _, text in ipairs(redis.call("LRANGE", list, 0, 1)) do
                    if text:sub(1, 1) == "=" then
                        references[#references + 1] = text
                    end
                end
            end
        end
    end
end
return {token, tasks, needs, references}
