-- Gives back to the window that the charge went to, and never below zero.
-- KEYS[1]: a hash of used and reset. ARGV: cost, reset. Returns {used, reset}; {0, 0} if that window is not there any more.

local key, cost, reset = KEYS[1], tonumber(ARGV[1]), ARGV[2]

local fields = redis.call('HMGET', key, 'used', 'reset')
local used = fields[1] and string.find(fields[1], '^%d+$') and tonumber(fields[1])
if not used or fields[2] ~= reset then
    return {0, 0}
end
local back = math.min(cost, used)
if back == 0 then
    return {used, tonumber(reset)}
end
return {redis.call('HINCRBY', key, 'used', string.format('%.0f', -back)), tonumber(reset)}
