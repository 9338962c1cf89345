-- Gives a cost back to the window that it was charged to, never below zero. If nothing is used after that, the key is deleted,
-- unless it has fields of others, or `keep` is there: then the window stays open until its end.
-- A caller that numbers its calls, each higher than the one before, may make one again that was not answered, under the same
-- number: the field r:ME has the last one's. What that or an earlier one gives back is back already.
-- What the user may not do is refused before anything is written.
-- KEYS[1]: a hash of used and reset. ARGV: cost, reset and perhaps keep ('' if not), me and number. Returns {used, reset}; {0, 0} if that window is not there, or not any more.

local key, cost, reset, keep = KEYS[1], tonumber(ARGV[1]), ARGV[2], ARGV[3] and ARGV[3] ~= ''
local mine, number = ARGV[4] and 'r:' .. ARGV[4], tonumber(ARGV[5])
local call = redis.call

local fields = mine and redis.pcall('HMGET', key, 'used', 'reset', mine) or redis.pcall('HMGET', key, 'used', 'reset')
if fields.err then
    return string.sub(fields.err, 1, 9) == 'WRONGTYPE' and {0, 0} or fields
end
-- Any other text is no count that HINCRBY goes on from: the next charge puts it right.
local used = fields[1] and #fields[1] < 19 and (string.find(fields[1], '^[1-9]%d*$') or fields[1] == '0') and math.min(tonumber(fields[1]), 9e15)
if not used or fields[2] ~= reset then
    return {0, 0}
end

-- A number is the time of its call in microseconds. One that is so far ahead is none; and where a window has those of many workers, each
-- 32nd that comes lets those be forgotten whose calls nobody makes again any more.
local age = 600000000
local last = mine and fields[3] and string.find(fields[3], '^%d+$') and tonumber(fields[3])
if last and last >= number and last <= number + age then
    return {used, tonumber(reset)}
end

local back = math.min(cost, used)
if back == used and not keep then
    -- No call that was granted something, or gave something back, need be known any more where nothing is used.
    local pairs = call('HLEN', key) ~= 2 and redis.pcall('HGETALL', key) or {}  -- a right that the user may not have
    local alone = not pairs.err
    for i = 1, #pairs, 2 do
        alone = alone and (pairs[i] == 'used' or pairs[i] == 'reset' or string.find(pairs[i], '^[gr]:') ~= nil)
    end
    if alone then
        call('DEL', key)
        return {0, 0}
    end
end
if not mine then
    return {back == 0 and used or call('HINCRBY', key, 'used', string.format('%.0f', -back)), tonumber(reset)}
end
local count = fields[3] and 0 or call('HLEN', key)
call('HSET', key, 'used', string.format('%.0f', used - back), mine, ARGV[5])  -- written even where nothing is left to give back
local pairs = count > 256 and count % 32 == 0 and redis.pcall('HGETALL', key) or {}
for i = 1, #pairs, 2 do
    local other = string.match(pairs[i], '^[gr]:') and tonumber(string.match(pairs[i + 1], '^%d+'))
    if other and other < number - age then
        redis.pcall('HDEL', key, pairs[i])
    end
end
return {used - back, tonumber(reset)}
