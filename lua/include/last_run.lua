-- The last task of a schedule that has not ended, its state and its run; nil where none goes on.
local function last_run(keys)
    local ids = line_of(keys)
    for n = #ids, 1, -1 do
        local state, run = in_flight(keys, ids[n])
        if state then
            return ids[n], state, run
        end
    end
    return nil
end
