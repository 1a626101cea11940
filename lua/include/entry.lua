-- An entry: how pages, buckets and ready lists name a placement of a task. The number tells a placement that still
-- counts from one that a cancel or a move left behind, so the same id may be used again at once.
local function entry(id, seq)
    return id .. struct.pack(">I4", seq)
end

-- What is too short to be an entry names no task.
local function entry_parts(text)
    if #text < 5 then
        return "", -1
    end
    return text:sub(1, -5), (struct.unpack(">I4", text, #text - 3))
end
