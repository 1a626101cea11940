-- Members of the timetable name themselves, so that whoever reads one knows which keys the next call needs. The first
-- byte is the kind: "+" lone task, "=" bucket, "p" page to be opened, "l" lease that ends, "t" tick of a schedule,
-- "g" guard of a queue's wake-up, "f" finished tasks to be forgotten, "d" dead ones to be kept within bounds.
local PAGE_MS = 60000

local function lone_member(queue, band, id, seq)
    return "+" .. struct.pack(">I4", seq) .. band .. queue .. ":" .. id
end

local function bucket_member(due, band, queue)
    return string.format("=%.0f:%d:%s", due, band, queue)
end

local function page_member(due)
    return string.format("p%.0f", math.floor(due / PAGE_MS))
end

local function page_opens(due)
    return (math.floor(due / PAGE_MS) - 1) * PAGE_MS
end

local function lease_member(queue, band, id)
    return "l" .. band .. queue .. ":" .. id
end
