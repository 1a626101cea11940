-- The header of a record: due time in ms, band, queue, placement number, and the nonce or "" (see common/record.py).
local function header(record)
    local flags, seq, due, band, queue, at = struct.unpack(">BI4I6BBc0", record)
    local nonce = flags % 2 == 1 and record:sub(at, at + 7) or ""
    return due, band, queue, seq, nonce
end
