-- Gives a cost back to the window that it was charged to, never below zero. If nothing is used after that, the key is deleted,
-- unless it has other fields, or `keep` is there: then the window stays open until its end.
-- KEYS[1]: a hash of used and reset. ARGV: cost, reset and perhaps keep. Returns {used, reset}; {0, 0} if that window is not there, or not any more.

local key, cost, reset, keep = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3]

local fields = redis.call('HMGET', key, 'used', 'reset')
local used = fields[1] and string.find(fields[1], '^%d+$') and tonumber(fields[1])
if not used or fields[2] ~= reset then
    return {0, 0}
end
local back = math.min(cost, used)
if back == used and not keep and redis.call('HLEN', key) == 2 then
    redis.call('DEL', key)
    return {0, 0}
end
if back == 0 then
    return {used, tonumber(reset)}
end
return {redis.call('HINCRBY', key, 'used', string.format('%.0f', -back)), tonumber(reset)}
