-- Whether the key at an index of KEYS is the one of that name, compared by its end: all keys of the store end in it.
local function is_declared(index, name)
    local key = KEYS[tonumber(index)] or ""
    return key:sub(-#name) == name
end
