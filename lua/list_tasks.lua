-- list_tasks: the ids of some tasks, in no order. Who goes on until the place is "0" again meets each task that was
-- there all the while, some perhaps twice. Writes nothing.
--
-- KEYS  1 records; or runs, for tasks that were reserved before or have ended
-- ARGV  1 place to go on from, "0" at first, 2 how many at most (a few more are given where they stand together),
--       3 how many bytes of values are looked at at most (and those of a few more)
-- Output  {the next place, ids}
-- Cost  O(tasks given)
-- States  unchanged
--
-- The values stay here: HSCAN has no other way to names in all servers, so it takes small steps, and their bytes are
-- counted. Dies before or after: nothing has changed.

-- include: expect

local place, most, bytes_left = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
expect(#KEYS == 1 and #ARGV == 3 and tonumber(place) and most and most > 0 and bytes_left)

local ids = {}
for _ = 1, most do
    local found = redis.call("HSCAN", KEYS[1], place, "COUNT", 1)
    place = found[1]
    for i = 1, #found[2], 2 do
        ids[#ids + 1] = found[2][i]
        bytes_left = bytes_left - #found[2][i + 1]
    end
    if place == "0" or #ids >= most or bytes_left < 0 then
        break
    end
end
return {place, ids}
