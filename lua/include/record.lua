-- The header of a record: due time in ms, band, queue, placement number, and the nonce or "", or as much more as is
-- flagged (see common/record.py); nil for what is too short to be one, which no oncue has written.
local function header(record)
    if #record < 13 or #record < 13 + record:byte(13) then
        return nil
    end
    local flags, seq, due, band, queue, at = struct.unpack(">BI4I6BBc0", record)
    local nonce = flags % 2 == 1 and record:sub(at, at + 7) or ""
    if flags % 16 >= 8 then
        nonce = record:sub(at, at + 14 + (record:byte(at + 14) or 0))
    end
    return due, band, queue, seq, nonce
end

-- The same record with another placement number and due time.
local function record_moved(record, seq, due)
    return record:sub(1, 1) .. struct.pack(">I4I6", seq, due) .. record:sub(12)
end

-- The same record as of a new task: with that placement number, due then, in that queue, and without an end. A key of
-- "claims" belongs to a queue, so in another one there is none.
local function record_anew(record, seq, due, queue)
    local flags, _, _, band, before = struct.unpack(">BI4I6BBc0", record)
    local rest = record:sub(14 + #before)
    if flags % 16 >= 8 then
        local size = rest:byte(15) or 0
        if size > 0 and before == queue then
            rest = rest:sub(1, 8) .. ("\0"):rep(6) .. rest:sub(15)
        else
            flags, rest = flags - 8, rest:sub(1, 8) .. rest:sub(16 + size)
        end
    end
    return struct.pack(">BI4I6BB", flags, seq, due, band, #queue) .. queue .. rest
end

-- What stands behind the nonce, if anything: the instant by which the task has to have begun, or nil, and the field of
-- "claims" that names it, or nil.
local function extras(nonce)
    if #nonce < 15 then
        return nil, nil
    end
    local expires = struct.unpack(">I6", nonce, 9)
    return expires > 0 and expires or nil, #nonce > 15 and nonce:sub(16) or nil
end
