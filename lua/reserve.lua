-- Charges a client's window before the request, as far as the limit leaves it, and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset. ARGV: limit, want, least, now, proposed, latest and perhaps parts, or parts, back and
-- of; times in milliseconds. Adds `want`, or what is left; nothing if that is less than `least`. With `parts`, grants at most
-- one of so many parts of what is left, unless `least` is more. First gives `back` to the window that ends at `of`, if that is
-- the one that is open. Only the script can know what is left when several machines take at once. Returns {granted, used,
-- reset}; used and reset are 0 where no window is open and nothing is granted.

local key, limit, want, least = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, proposed, latest, parts = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7] or 1)

-- The number, if HINCRBY could count on from this text and Lua holds it exactly.
local function whole(text)
    return text and #text < 16 and (text == '0' or string.find(text, '^[1-9]%d*$')) and tonumber(text)
end

-- Arguments go to Redis as strings: Lua would write a large number as 1.7e+12.
local function add(cost)
    return cost == 0 or redis.call('HINCRBY', key, 'used', string.format('%.0f', cost))
end

local fields = redis.call('HMGET', key, 'used', 'reset')
local used, reset = whole(fields[1]), whole(fields[2])

local function open_with(count)
    redis.call('HSET', key, 'used', string.format('%.0f', count), 'reset', proposed)
    redis.call('PEXPIRE', key, string.format('%.0f', tonumber(proposed) - now + 1000))
    reset = tonumber(proposed)
end

if used and not fields[2] then
    open_with(used)  -- such a count comes from HINCRBYs that found no key: it belongs to the window opened here
end

local open = used and reset and reset > now and reset <= latest
local back = open and fields[2] == ARGV[9] and math.min(used, tonumber(ARGV[8])) or 0
used = open and used - back or 0

local left = math.max(0, limit - used)
local granted = math.min(want, left, math.max(least, math.floor(left / parts)))
if granted < least or granted == 0 then
    add(-back)
    return {0, used, open and reset or 0}
end
if open then
    add(granted - back)
    return {granted, used + granted, reset}
end
open_with(granted)
return {granted, granted, reset}
