-- The header of a record: due time in ms, band, queue, placement number, and the nonce or "" (see common/record.py);
-- nil for what is too short to be one, which no oncue has written.
local function header(record)
    if #record < 13 or #record < 13 + record:byte(13) then
        return nil
    end
    local flags, seq, due, band, queue, at = struct.unpack(">BI4I6BBc0", record)
    local nonce = flags % 2 == 1 and record:sub(at, at + 7) or ""
    return due, band, queue, seq, nonce
end

-- The same record with another placement number and due time.
local function record_moved(record, seq, due)
    return record:sub(1, 1) .. struct.pack(">I4I6", seq, due) .. record:sub(12)
end
