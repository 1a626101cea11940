-- Whether the rules of a zone with this digest may plan: unless others are in force. The second result: whether any
-- are.
local function may_plan_by(keys, zone, rules)
    local in_force = redis.call("HGET", keys.zones, zone)
    return not in_force or in_force:sub(1, #rules) == rules, in_force and true
end
