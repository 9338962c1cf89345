-- Adds a cost to a client's window and opens a new window if none is open.
-- KEYS[1]: a hash of used and reset, and perhaps of a penalty's end (see lua/penalty.lua).
-- ARGV: cost, now, proposed, latest, and perhaps least; times in milliseconds.
-- least: so much, without the cost, a former primary had told of the window that ends at proposed. Where that window is open, or none
-- is, it has at least so much, and the cost is added to that: what a failover has lost is there again. It is no use to another window.
-- A count stops at 9 * 10^15, which is the most that used says: Lua holds all numbers up to there, and some more, exactly.
-- Returns {used, reset}; where least is given, a third number: by how much that has raised used; and one more, 1, where another type
-- was in the window's place, and has given way to it.

local most = 9e15
local key, cost, now, proposed, latest = KEYS[1], ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local least = tonumber(ARGV[5])

local text, replaced = redis.pcall('HGET', key, 'reset'), nil
if type(text) == 'table' then
    if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then
        return text  -- it says nothing of the window: the user may not do this, ...
    end
    text, replaced = '', 1
end
-- tonumber() alone would accept '1e12', '0x7f' and 'nan'.
local reset = text and string.find(text, '^[1-9]%d*$') and tonumber(text)
local before = not text and redis.call('HGET', key, 'used')

-- What the user may not do is refused, and sent again: then all must be as it was. HSET is refused before anything is changed; where
-- PEXPIRE is, what has been written is taken back.
-- Arguments go to Redis as the strings they came as: Lua would write a time as 1.7e+12.
local function open_with(used)
    if replaced then
        if string.sub(redis.pcall('HSET', key, 'reset', proposed).err, 1, 9) == 'WRONGTYPE' then
            redis.pcall('DEL', key)  -- HSET says what is in its place, where the user may not do this
        end
    elseif text then
        before = redis.call('HGET', key, 'used')
    end
    redis.call('HSET', key, 'used', used, 'reset', proposed)
    local penalty = redis.call('HGET', key, 'until')
    local stays = penalty and #penalty < 16 and string.find(penalty, '^%d+$') and math.min(tonumber(penalty), now + 31622460000) or 0
    local life = string.format('%.0f', math.max(tonumber(proposed), stays) - now + 1000)
    if type(redis.pcall('PEXPIRE', key, life)) ~= 'table' then
        return
    end
    for field, value in pairs({used = before, reset = not replaced and text}) do
        local back = value and redis.pcall('HSET', key, field, value) or redis.pcall('HDEL', key, field)
        if type(back) == 'table' then
            error('a charge was stored without an expiry')  -- and is not to be sent again
        end
    end
    redis.call('PEXPIRE', key, life)  -- says why
end

local function answer(used, reset, raised)
    if least then
        return {used, reset, raised, replaced}
    end
    return {used, reset, replaced}
end

-- A count without a reset comes from HINCRBYs that found no key: it belongs to the window that is opened here. From 10^18 on it is no
-- limit's.
local counted = before and #before < 19 and (string.find(before, '^[1-9]%d*$') or before == '0') and tonumber(before)
if counted then
    local count = math.min(math.max(counted, least or 0) + cost, most)
    open_with(string.format('%.0f', count))
    return answer(count, tonumber(proposed), math.max(count - cost - counted, 0))
end
if reset and reset > now and reset <= latest then
    -- Fails where used is no integer, or too large; below cost it was negative. None of these is a count to go on from.
    local used = redis.pcall('HINCRBY', key, 'used', cost)
    if type(used) == 'number' then
        if used >= tonumber(cost) and used < 1e18 then
            local lost = least and reset == tonumber(proposed) and math.max(least + cost - used, 0) or 0
            used = lost > 0 and redis.call('HINCRBY', key, 'used', string.format('%.0f', lost)) or used
            if used > most then
                used = most
                redis.call('HSET', key, 'used', string.format('%.0f', most))
            end
            return answer(used, reset, lost)
        end
        redis.call('HINCRBY', key, 'used', string.format('%.0f', 0 - cost))
    elseif not (string.find(used.err, 'not an integer', 1, true) or string.find(used.err, 'overflow', 1, true)) then
        return used  -- it says nothing of the count: the user may not do this, memory is short, ...
    end
end

local opened = math.min((least or 0) + cost, most)
open_with(string.format('%.0f', opened))
return answer(opened, tonumber(proposed), least)
