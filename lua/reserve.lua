-- Charges a client's window before the request, as far as the limit leaves it, and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset, and perhaps of a penalty's end. ARGV: limit, want, least, now, proposed, latest and perhaps parts,
-- or parts, back and of, or all these, me and number; times in milliseconds. Adds `want`, or what is left; nothing if that is less than
-- `least`. With `parts`, grants at most one of so many parts of what is left, unless `least` is more. First gives `back` to the window
-- that is open, if that ends at `of` or before: one that ends later was opened after that had been taken. A call with a number has none
-- to give. A caller that numbers its calls, each higher than the one before, may make one again that was not answered, under the same
-- number: the field g:ME has the number of the last one, how much it was granted, and the window's reset. While that window is open the
-- same call is told again what it was granted, and takes nothing; nor does an earlier one, that comes late. Only the script can know what
-- is left when several machines take at once. Returns {granted, used, reset}; used and reset are 0 where no window is open and nothing is
-- granted. A fourth number, 1, says that another type was in the window's place, and has given way.

local key, limit, want, least = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now, proposed, latest, parts = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7] or 1)
local mine, number = ARGV[10] and 'g:' .. ARGV[10], tonumber(ARGV[11])
local call, find, match, format = redis.call, string.find, string.match, string.format

-- Numbers, if HINCRBY could count on from these texts; a count is no more than lua/charge.lua lets it be.
local fields = mine and redis.pcall('HMGET', key, 'used', 'reset', mine) or redis.pcall('HMGET', key, 'used', 'reset')
local replaced
if fields.err then
    if string.sub(fields.err, 1, 9) ~= 'WRONGTYPE' then
        return fields  -- it says nothing of the window: the user may not do this, ...
    elseif want == 0 and not mine then
        return {0, 0, 0}
    end
    fields, replaced = {}, 1
end
local used, reset = fields[1], fields[2]
used = used and #used < 19 and (find(used, '^[1-9]%d*$') or used == '0') and math.min(tonumber(used), 9e15)
reset = reset and #reset < 16 and find(reset, '^[1-9]%d*$') and tonumber(reset)

-- What the user may not do is refused, and sent again: then all must be as it was. HSET is refused before anything is changed; where
-- PEXPIRE is, what has been written is taken back. Without `expiry` the key lives until a second after the window that opens.
-- Arguments go to Redis as strings: Lua would write a large number as 1.7e+12.
local function store(expiry, ...)
    if replaced and string.sub(redis.pcall('HSET', key, ...).err, 1, 9) == 'WRONGTYPE' then
        redis.pcall('DEL', key)  -- HSET says what is in its place, where the user may not do this
    end
    call('HSET', key, ...)
    local penalty = call('HMGET', key, 'until')[1]  -- see lua/penalty.lua
    local stays = penalty and #penalty < 16 and find(penalty, '^%d+$') and math.min(tonumber(penalty), now + 31622460000) or 0
    expiry = format('%.0f', math.max(expiry or tonumber(proposed) - now + 1000, stays - now + 1000))
    if type(redis.pcall('PEXPIRE', key, expiry)) ~= 'table' then
        return
    end
    for i, field in ipairs({'used', 'reset', mine}) do
        local back = fields[i] and redis.pcall('HSET', key, field, fields[i]) or redis.pcall('HDEL', key, field)
        if type(back) == 'table' then
            error('a window was stored without an expiry')  -- and is not to be sent again
        end
    end
    call('PEXPIRE', key, expiry)  -- says why
end

-- A count without a reset comes from HINCRBYs that found no key: it belongs to the window that is opened here.
local adopted = used and not fields[2]
reset = adopted and tonumber(proposed) or reset

local open = used and reset and reset > now and reset <= latest
local back = open and ARGV[8] and reset <= tonumber(ARGV[9]) and math.min(used, tonumber(ARGV[8])) or 0
used = open and used - back or 0

-- A number is the time of its call in microseconds. Where a window has those of many workers, each 32nd that comes lets those be forgotten
-- whose calls nobody makes again any more; and a number that is so far ahead is none.
local age = 600000000
local count = mine and not fields[3] and not replaced and call('HLEN', key) or 0
if mine and fields[3] then
    if adopted then
        store(nil, 'used', format('%.0f', used), 'reset', proposed)
    end
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
if granted == 0 and not open then
    if mine and want == 0 then
        store(60000, mine, ARGV[11] .. ' 0 0')  -- so that the call itself takes nothing if it comes late
    elseif replaced then
        call('DEL', key)
    end
    return {0, 0, 0, replaced}
end
used = used + granted
local opens = adopted or not open
reset = opens and tonumber(proposed) or reset
if mine then  -- a grant of nothing is noted, too, so that the call takes nothing if it comes late
    local much = granted == want and ARGV[2] or format('%.0f', granted)
    local note = ARGV[11] .. ' ' .. much .. ' ' .. (opens and proposed or fields[2])
    if opens then
        store(nil, 'used', format('%.0f', used), 'reset', proposed, mine, note)
    else
        call('HSET', key, 'used', format('%.0f', used), mine, note)
    end
elseif opens then
    store(nil, 'used', format('%.0f', used), 'reset', proposed)
elseif granted ~= back then
    call('HINCRBY', key, 'used', format('%.0f', granted - back))
end
local pairs = count > 256 and count % 32 == 0 and redis.pcall('HGETALL', key) or {}
for i = 1, #pairs, 2 do
    local other = match(pairs[i], '^[gr]:') and tonumber(match(pairs[i + 1], '^%d+'))
    if other and other < now * 1000 - age then
        redis.pcall('HDEL', key, pairs[i])
    end
end
return {granted, used, reset, replaced}
