-- Gives a cost back to the window that it was charged to, never below zero. If nothing is used after that, the key is deleted,
-- unless it has fields of others, or `keep` is there: then the window stays open until its end.
-- A caller that numbers its calls, each higher than the one before, may make one again that was not answered, under the same
-- number: the field r:ME has the last one's. What that or an earlier one gives back is back already.
-- KEYS[1]: a hash of used and reset. ARGV: cost, reset and perhaps keep ('' if not), me and number. Returns {used, reset}; {0, 0} if that window is not there, or not any more.

local key, cost, reset, keep = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3] and ARGV[3] ~= ''
local mine, number = ARGV[4] and 'r:' .. ARGV[4], tonumber(ARGV[5])

local fields = mine and redis.call('HMGET', key, 'used', 'reset', mine) or redis.call('HMGET', key, 'used', 'reset')
local used = fields[1] and string.find(fields[1], '^%d+$') and tonumber(fields[1])
if not used or fields[2] ~= reset then
    return {0, 0}
end
if mine and (tonumber(fields[3] or 0) or 0) >= number then
    return {used, tonumber(reset)}
end
-- Where a window has the numbers of many workers, those of calls that nobody makes again any more are forgotten. A number is the
-- time of its call in microseconds.
local function forget_old()
    local pairs = redis.call('HLEN', key) > 256 and redis.pcall('HGETALL', key) or {}
    for i = 1, #pairs, 2 do
        local other = string.match(pairs[i], '^[gr]:') and tonumber(string.match(pairs[i + 1], '^%d+'))
        if other and other < number - 600000000 then
            redis.call('HDEL', key, pairs[i])
        end
    end
end

-- Where nothing is used, no call that was granted something, or gave something back, need be known any more.
local function is_ours_alone()
    if redis.call('HLEN', key) == 2 then
        return true
    end
    local pairs = redis.pcall('HGETALL', key)  -- a right that the user may not have
    for i = 1, #pairs, 2 do
        if pairs[i] ~= 'used' and pairs[i] ~= 'reset' and not string.find(pairs[i], '^[gr]:') then
            return false
        end
    end
    return not pairs.err
end

local back = math.min(cost, used)
if back == used and not keep and is_ours_alone() then
    redis.call('DEL', key)
    return {0, 0}
end
if back == 0 then
    return {used, tonumber(reset)}
end
if mine then
    if not fields[3] then
        forget_old()
    end
    redis.call('HSET', key, 'used', string.format('%.0f', used - back), mine, ARGV[5])
    return {used - back, tonumber(reset)}
end
return {redis.call('HINCRBY', key, 'used', string.format('%.0f', -back)), tonumber(reset)}
