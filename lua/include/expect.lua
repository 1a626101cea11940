-- Refuses a call that does not fit its contract, before anything is written: an error in the middle undoes nothing.
local function expect(fits)
    if not fits then
        error("the keys or arguments do not fit the contract of this script", 0)
    end
end
