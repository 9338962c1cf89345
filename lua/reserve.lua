-- Charges a client's window before the request, as far as the limit leaves it, and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset. ARGV: limit, want, least, now, proposed, latest and perhaps parts, or parts, back and
-- of, or all these, me and number; times in milliseconds. Adds `want`, or what is left; nothing if that is less than `least`. With `parts`, grants at most
-- one of so many parts of what is left, unless `least` is more. First gives `back` to the window that ends at `of`, if that is
-- the one that is open; a call with a number has none to give. A caller that numbers its calls, each higher than the one before, may make one again
-- that was not answered, under the same number: the field g:ME has the number of the last one, how much it was granted, and the
-- window's reset. While that window is open the same call is told again what it was granted, and takes nothing; nor does an
-- earlier one, that comes late. Only the script can know what is left when several machines take at once. Returns {granted, used,
-- reset}; used and reset are 0 where no window is open and nothing is granted. A fourth number, 1, says that another type was in the
-- window's place, and has given way.

local key, limit, want, least = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, proposed, latest, parts = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7] or 1)
local mine, number = ARGV[10] and 'g:' .. ARGV[10], tonumber(ARGV[11])
local call, find, match, format = redis.call, string.find, string.match, string.format

-- Numbers, if HINCRBY could count on from these texts and Lua holds them exactly.
local fields = mine and redis.pcall('HMGET', key, 'used', 'reset', mine) or redis.pcall('HMGET', key, 'used', 'reset')
local replaced
if fields.err then
    if string.sub(fields.err, 1, 9) ~= 'WRONGTYPE' then
        return fields  -- it says nothing of the window: the user may not do this, ...
    elseif want == 0 and not mine then
        return {0, 0, 0}
    end
    redis.pcall('DEL', key)  -- HSET says what is in its place, where the user may not do this
    fields, replaced = {}, 1
end
local used, reset = fields[1], fields[2]
used = used and #used < 16 and (find(used, '^[1-9]%d*$') or used == '0') and tonumber(used)
reset = reset and #reset < 16 and find(reset, '^[1-9]%d*$') and tonumber(reset)

-- Arguments go to Redis as strings: Lua would write a large number as 1.7e+12.
local function open_with(count)
    call('HSET', key, 'used', format('%.0f', count), 'reset', proposed)
    call('PEXPIRE', key, format('%.0f', tonumber(proposed) - now + 1000))
    reset = tonumber(proposed)
end

if used and not fields[2] then
    open_with(used)  -- such a count comes from HINCRBYs that found no key: it belongs to the window opened here
end

local open = used and reset and reset > now and reset <= latest
local back = open and fields[2] == ARGV[9] and math.min(used, tonumber(ARGV[8])) or 0
used = open and used - back or 0

-- A number is the time of its call in microseconds. Where a window has those of many workers, each 32nd that comes lets those be forgotten
-- whose calls nobody makes again any more; and a number that is so far ahead is none.
local age = 600000000
if mine and not fields[3] then
    local count = call('HLEN', key)
    local pairs = count > 256 and count % 32 == 0 and redis.pcall('HGETALL', key) or {}
    for i = 1, #pairs, 2 do
        local other = match(pairs[i], '^[gr]:') and tonumber(match(pairs[i + 1], '^%d+'))
        if other and other < now * 1000 - age then
            call('HDEL', key, pairs[i])
        end
    end
elseif mine then
    local last = tonumber(match(fields[3], '^(%d+) %d+ %d+$') or 0)
    if last > number and last <= number + age then
        return {0, used, open and reset or 0}
    elseif last == number then
        local before, of = match(fields[3], '^%d+ (%d+) (%d+)$')
        if of == '0' or (open and of == fields[2] and (used > 0 or before == '0')) then
            return {math.min(tonumber(before), used), used, open and reset or 0}
        end
    end
end

local left = limit > used and limit - used or 0
local granted = math.min(want, left, math.max(least, (left - left % parts) / parts))
if granted < least then
    granted = 0
end
if granted ~= 0 and not open then
    open_with(granted)
elseif not mine and granted ~= back then
    call('HINCRBY', key, 'used', format('%.0f', granted - back))
end
used = used + granted
if granted == 0 and not open then
    if mine and want == 0 then
        call('HSET', key, mine, ARGV[11] .. ' 0 0')  -- so that the call itself takes nothing if it comes late
        call('PEXPIRE', key, 60000)
    end
    return {0, 0, 0, replaced}
end
if mine then  -- a grant of nothing is noted, too, so that the call takes nothing if it comes late
    local much = granted == want and ARGV[2] or format('%.0f', granted)
    call('HSET', key, 'used', format('%.0f', used), mine, ARGV[11] .. ' ' .. much .. ' ' .. (open and fields[2] or proposed))
end
return {granted, used, reset, replaced}
