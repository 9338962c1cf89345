-- Charges a client's window before the request, as far as the limit leaves it, and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset. ARGV: limit, want, least, now, proposed, latest and perhaps parts, or parts, back and
-- of, or all these, me and number; times in milliseconds. Adds `want`, or what is left; nothing if that is less than `least`. With `parts`, grants at most
-- one of so many parts of what is left, unless `least` is more. First gives `back` to the window that ends at `of`, if that is
-- the one that is open. A caller that numbers its calls, each higher than the one before, may make one again that was not
-- answered, under the same number: the field g:ME has the number of the last one that was granted something, how much, and the
-- window's reset. While that window is open the same call is told again what it was granted, and takes nothing; nor does an
-- earlier one, that comes late. Only the script can know what is left when several machines take at once. Returns {granted, used,
-- reset}; used and reset are 0 where no window is open and nothing is granted.

local key, limit, want, least = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, proposed, latest, parts = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7] or 1)
local mine, number = ARGV[10] and 'g:' .. ARGV[10], tonumber(ARGV[11])

-- The number, if HINCRBY could count on from this text and Lua holds it exactly.
local function whole(text)
    return text and #text < 16 and (text == '0' or string.find(text, '^[1-9]%d*$')) and tonumber(text)
end

-- Arguments go to Redis as strings: Lua would write a large number as 1.7e+12.
local function add(cost)
    return cost == 0 or redis.call('HINCRBY', key, 'used', string.format('%.0f', cost))
end

local fields = mine and redis.call('HMGET', key, 'used', 'reset', mine) or redis.call('HMGET', key, 'used', 'reset')
local used, reset = whole(fields[1]), whole(fields[2])

-- Of the caller that numbers its calls: the window has `count` now, of which this call was granted so much.
local function note(count, granted)
    redis.call('HSET', key, 'used', string.format('%.0f', count), mine, string.format('%s %.0f %.0f', ARGV[11], granted, reset))
end

-- Where a window has the numbers of many workers, those of calls that nobody makes again any more are forgotten. A number is the
-- time of its call in microseconds.
local function forget_old()
    local pairs = redis.call('HLEN', key) > 256 and redis.pcall('HGETALL', key) or {}
    for i = 1, #pairs, 2 do
        local number = string.match(pairs[i], '^[gr]:') and tonumber(string.match(pairs[i + 1], '^%d+'))
        if number and number < (now - 600000) * 1000 then
            redis.call('HDEL', key, pairs[i])
        end
    end
end

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

if mine and not fields[3] then
    forget_old()
elseif mine then
    local last, before, of = string.match(fields[3], '^(%d+) (%d+) (%d+)$')
    last = tonumber(last or 0)
    if last > number then
        return {0, used, open and reset or 0}
    elseif last == number and open and of == fields[2] and (used > 0 or before == '0') then
        return {math.min(tonumber(before), used), used, reset}
    end
end

local left = math.max(0, limit - used)
local granted = math.min(want, left, math.max(least, math.floor(left / parts)))
if granted < least or granted == 0 then
    add(-back)
    if mine and open and want == 0 then
        note(used, 0)  -- so that a call of this number, or an earlier one, that comes late takes nothing
    end
    return {0, used, open and reset or 0}
end
if open then
    if mine then
        note(used + granted, granted)
    else
        add(granted - back)
    end
    return {granted, used + granted, reset}
end
open_with(granted)
if mine then
    note(granted, granted)
end
return {granted, granted, reset}
