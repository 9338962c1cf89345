-- Puts a window right without adding to it: a key must never block a client for ever.
-- KEYS[1]: a hash of used and reset. ARGV: now, proposed, latest; times in milliseconds.
-- Returns {used, reset}; {0, 0} if there is no such key, or one of another type, and then makes none: the next charge does.

local key, now, proposed, latest = KEYS[1], tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])

-- The number, if HINCRBY could count on from this text. Lua holds resets exactly, and counts as far as lua/charge.lua lets them be.
local function whole(text)
    return text and #text < 19 and (text == '0' or string.find(text, '^[1-9]%d*$')) and math.min(tonumber(text), 9e15)
end

local ttl = redis.call('PTTL', key)
if ttl == -2 then
    return {0, 0}
end

local fields = redis.pcall('HMGET', key, 'used', 'reset')
if fields.err then
    return string.sub(fields.err, 1, 9) == 'WRONGTYPE' and {0, 0} or fields
end
local used, reset = whole(fields[1]), whole(fields[2])

local open = reset and reset > now and reset <= latest
local closed = reset and reset <= now

local changes = {}
if closed or not used then
    used = 0
    changes = {'used', '0'}
end
if not open then
    -- A count without a reset comes from a HINCRBY that found no key: it belongs to the window opened here.
    reset = tonumber(proposed)
    changes[#changes + 1] = 'reset'
    changes[#changes + 1] = proposed
end
if #changes > 0 then
    redis.call('HSET', key, unpack(changes))
end
local penalty = redis.call('HMGET', key, 'until')[1]  -- see lua/penalty.lua
local stays = penalty and #penalty < 16 and string.find(penalty, '^%d+$') and math.min(tonumber(penalty), now + 31622460000) or 0
local life = string.format('%.0f', math.max(reset, stays) - now + 1000)
if (not open or ttl == -1) and type(redis.pcall('PEXPIRE', key, life)) == 'table' then
    for i = 1, #changes, 2 do  -- where the user may not do this, all is left as it was
        local field, was = changes[i], fields[changes[i] == 'used' and 1 or 2]
        local back = was and redis.pcall('HSET', key, field, was) or redis.pcall('HDEL', key, field)
        if type(back) == 'table' then
            error('a window was stored without an expiry')
        end
    end
    redis.call('PEXPIRE', key, life)  -- says why
end
return {used, reset}
