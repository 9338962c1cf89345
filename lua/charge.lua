-- Adds a cost to a client's window and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset. ARGV: cost, now, proposed, latest; times in milliseconds.
-- Returns {used, reset}, and a third number, 1, where another type was in the window's place, and has given way to it.

local key, cost, now, proposed, latest = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])

local text, replaced = redis.pcall('HGET', key, 'reset'), nil
if type(text) == 'table' then
    if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then
        return text  -- it says nothing of the window: the user may not do this, ...
    end
    redis.pcall('DEL', key)  -- HSET says what is in its place, where the user may not do this
    text, replaced = '', 1
end
-- tonumber() alone would accept '1e12', '0x7f' and 'nan'.
local reset = text and string.find(text, '^[1-9]%d*$') and tonumber(text)

-- Arguments go to Redis as the strings they came as: Lua would write a time as 1.7e+12.
local function open_with(...)
    redis.call('HSET', key, ...)
    redis.call('PEXPIRE', key, string.format('%.0f', tonumber(proposed) - now + 1000))
end

-- A count without a reset comes from HINCRBYs that found no key: it belongs to the window that is opened here.
if not text and redis.call('HGET', key, 'used') or reset and reset > now and reset <= latest then
    -- Fails where used is no integer, or too large; below cost it was negative, and from 10^15 on it is no limit's. None of these is a
    -- count to go on from.
    local used = redis.pcall('HINCRBY', key, 'used', cost)
    if type(used) == 'number' then
        if used >= tonumber(cost) and used < 1e15 then
            if not text then
                open_with('reset', proposed)
            end
            return {used, reset or tonumber(proposed)}
        end
    elseif not (string.find(used.err, 'not an integer', 1, true) or string.find(used.err, 'overflow', 1, true)) then
        return used  -- it says nothing of the count: the user may not do this, memory is short, ...
    end
end

open_with('used', cost, 'reset', proposed)
return {tonumber(cost), tonumber(proposed), replaced}
