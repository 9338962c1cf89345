-- Says how many slots of a client's limit of running requests a machine holds from now on. A slot is the right to let one request
-- run; it is counted from here until the machine says another number, or nothing for `ttl`.
-- KEYS[1]: a hash with a field for each machine: "slots deadline number". Where these are many, "+" is "slots:first:last": the sum of
-- all slots, and the first and last deadline. Until the first one passes a call need not read them all.
-- ARGV: me, number, limit, want (slots in all), least (those in use and one more), ttl, and perhaps the time as TIME says it, seconds
-- and microseconds, for servers where a script may not ask for it; deadlines and ttl are milliseconds.
-- Calls may come late, twice or never: they say what is to be, not what is to change, and one with a lower number than the last
-- changes nothing. What the machine holds already it keeps as far as it wants it, for its requests may have taken it since the call
-- was sent. Where that and what is left are less than `least`, it keeps what is in use: that runs in any case.
-- A machine without slots has no field, unless `least` is 0: then an earlier call may still come, and must find a higher number.
-- A call that comes too late, as one that only looks always does, changes nothing at all. Another type than a hash is no slots: who
-- has none to store leaves it there.
-- Returns {slots of this machine, slots of others, the number that stands}, and a fourth number, 1, where another type was in their
-- place, and has given way to them.

local key, me, number, limit = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local want, least, ttl = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local seconds, micros = ARGV[7], ARGV[8]
if not seconds then
    local time = redis.pcall('TIME')
    if time.err then
        return redis.error_reply('NOTIME ' .. time.err)  -- the caller tells its own
    end
    seconds, micros = time[1], time[2]
end
local now = tonumber(seconds) * 1000 + math.floor(tonumber(micros) / 1000)

local count, replaced = redis.pcall('HLEN', key), nil
if type(count) == 'table' then
    if string.sub(count.err, 1, 9) ~= 'WRONGTYPE' then
        return count  -- it says nothing of the slots: the user may not do this, ...
    end
    count, replaced = 0, 1
end

-- Slots, deadline and number, if Lua holds them exactly, no limit is lower than the slots, and a call may have that number: they are
-- milliseconds of the epoch, and grow no faster than that, also after one that lies some hundred years ahead.
local function read(text)
    local slots, deadline, count = string.match(text, '^(%d+) (%d+) (%d+)$')
    if slots and #slots < 16 and #deadline < 16 and #count < 16 and tonumber(slots) <= 1e12 and tonumber(count) <= now + 1e13 then
        return tonumber(slots), tonumber(count), tonumber(deadline)
    end
    return 0, 0, 0
end

-- A later deadline than these comes from a server whose clock was wrong.
local function valid(deadline)
    return deadline > now and deadline <= now + ttl + 60000
end

-- A key with no more fields has no sum: reading them all costs no more. One that is left is dropped then, as what no
-- machine has stored.
local many = 8

-- The sum, while no deadline has passed.
local function read_sum(text)
    local slots, first, last = string.match(text, '^(%d+):(%d+):(%d+)$')
    if slots and #slots < 16 and #first < 16 and #last < 16 and valid(tonumber(first)) and valid(tonumber(last)) then
        return tonumber(slots), tonumber(first), tonumber(last)
    end
end

local sum, first, last
local lapsed = {}
local others, mine, stands = 0, 0, 0
local before = {}
if count > many then
    local two = redis.call('HMGET', key, me, '+')
    before[me], before['+'] = two[1], two[2]
    sum, first, last = read_sum(two[2] or '')
    mine, stands = read(two[1] or '')
    others = math.max(0, (sum or 0) - mine)
end
if not sum then
    local fields = replaced and {} or redis.call('HGETALL', key)
    first, last = now + ttl, now
    for i = 1, #fields, 2 do
        local slots, number, deadline = read(fields[i + 1])
        if fields[i] == me then
            before[me] = fields[i + 1]
            mine, stands = valid(deadline) and slots or 0, number
        elseif valid(deadline) then
            others = others + slots
            first, last = math.min(first, deadline), math.max(last, deadline)
        elseif fields[i] ~= '+' or count <= many then
            lapsed[#lapsed + 1] = fields[i]
        end
    end
end
if stands > number then
    return {mine, others, stands}
end

local got = math.min(want, math.max(mine, limit - others))
if got < least then
    got = least - 1
end
if replaced then
    if got == 0 and least > 0 then
        return {0, 0, number}
    end
end
local changes = {}
local leaves = got == 0 and least > 0
if not leaves then
    last = math.max(last, now + ttl)
    changes = {me, string.format('%.0f %.0f %.0f', got, now + ttl, number)}
end
if count > many then
    changes[#changes + 1] = '+'
    changes[#changes + 1] = string.format('%.0f:%.0f:%.0f', others + got, math.min(first, now + ttl), last)
end

-- What the user may not do is refused: then all is left as it was. HDEL and HSET are refused before anything is changed; where PEXPIRE is,
-- what has been written is taken back.
if leaves then
    redis.call('HDEL', key, '')  -- no machine has this name
end
if replaced and string.sub(redis.pcall('HSET', key, unpack(changes)).err, 1, 9) == 'WRONGTYPE' then
    redis.pcall('DEL', key)  -- HSET says what is in its place, where the user may not do this
end
if #changes > 0 then
    redis.call('HSET', key, unpack(changes))
end
local life = string.format('%.0f', last - now + 1000)
if type(redis.pcall('PEXPIRE', key, life)) == 'table' then
    for i = 1, #changes, 2 do
        local field, was = changes[i], before[changes[i]]
        local back = was and redis.pcall('HSET', key, field, was) or redis.pcall('HDEL', key, field)
        if type(back) == 'table' then
            error('slots were stored without an expiry')
        end
    end
    redis.call('PEXPIRE', key, life)  -- says why
end
if leaves then
    redis.call('HDEL', key, me)
end
for _, field in ipairs(lapsed) do
    redis.pcall('HDEL', key, field)
end
return {got, others, number, replaced}
