-- reclaim: tasks whose lease has ended go back to the head of ready; one that was lost too often goes among the dead,
-- and one whose cancel is wished ends as cancelled.
--
-- KEYS  1 runs, 2 timetable, 3 counts, 4 records, 5 bands, 6 dead, 7 errors, 8 armed, 9 notify,
--       10 dead_bytes, 11 followers, 12 finished; then for each lease its ready and wake lists
-- ARGV  1 now in ms, 2 how long finished tasks are remembered in ms, 3 how many lost leases are allowed, 4 error (JSON)
--       of a task that is buried for it; then for each lease: its member of the timetable
-- Output  head of the timetable
-- Cost  O(leases given)
-- States  leased -> ready, leased -> dead, leased -> cancelled, blocked -> delayed
--
-- Dies before: the next scheduler reclaims. Dies after: the tasks are ready. A worker that is late with its answer has
-- lost the lease as soon as the task is ready again: the state, and later the token, no longer fit.

-- include: expect
-- include: record
-- include: entry
-- include: run
-- include: members
-- include: arm
-- include: ready
-- include: held
-- include: note_failure
-- include: dead
-- include: follow
-- include: finish
-- include: abandon_held
-- include: head

local keys = {runs = KEYS[1], timetable = KEYS[2], counts = KEYS[3], records = KEYS[4], bands = KEYS[5],
    dead = KEYS[6], errors = KEYS[7], armed = KEYS[8], notify = KEYS[9], dead_bytes = KEYS[10],
    followers = KEYS[11], finished = KEYS[12]}
local now, remembered, allowed, failure = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
expect(now and remembered and allowed and #ARGV >= 4 and #KEYS == 12 + 2 * (#ARGV - 4))

local buried = {}
local function bury(id, queue, band, run)
    run.state = "x"
    note_failure(keys, id, failure)
    enter_dead(keys, now, id)
    end_lease(keys, queue, band, id, "dead")
    buried[#buried + 1] = id
end

local function reclaim(member, ready, wake)
    local ends = tonumber(redis.call("ZSCORE", keys.timetable, member) or math.huge)
    if ends > now then
        return
    end
    local band, queue, id = member:match("^l(%d)([^:]+):(.+)$")
    local text, record = redis.call("HGET", keys.runs, id), redis.call("HGET", keys.records, id)
    local run = text and run_parts(text)
    if not record or not run or run.state ~= "l" then
        redis.call("ZREM", keys.timetable, member)
        return
    end
    -- A new token, so that even the old holder's repeated call is told that the lease is lost.
    run.lost, run.token = run.lost + 1, 0
    if run.wished then
        abandon_held(keys, queue, band, id, run, now, now + remembered)
        return
    elseif run.lost > allowed then
        bury(id, queue, band, run)
    else
        local _, _, _, seq = header(record)
        run.state = "w"
        redis.call("LPUSH", ready, entry(id, seq or 0))
        end_lease(keys, queue, band, id, "ready")
        mark_band(keys, queue, tonumber(band))
        wake_one(keys, queue, wake, now)
    end
    redis.call("HSET", keys.runs, id, run_text(run))
end

for i = 5, #ARGV do
    reclaim(ARGV[i], KEYS[2 * i + 3], KEYS[2 * i + 4])
end
follow(keys, buried, now)
return head(keys)
