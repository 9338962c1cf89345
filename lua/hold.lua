-- Says how many slots of a client's limit of running requests a machine holds from now on. A slot is the right to let one request
-- run; it is counted from here until the machine says another number, or nothing for `ttl`.
-- KEYS[1]: a hash with a field for each machine: "slots deadline number". ARGV: me, number, limit, want (slots in all), least
-- (those in use and one more), ttl, and perhaps the time as TIME says it, seconds and microseconds, for servers where a script may
-- not ask for it; deadlines and ttl are milliseconds.
-- Calls may come late, twice or never: they say what is to be, not what is to change, and one with a lower number than the last
-- changes nothing. What the machine holds already it keeps as far as it wants it, for its requests may have taken it since the call
-- was sent. Where that and what is left are less than `least`, it keeps what is in use: that runs in any case.
-- A machine without slots has no field, unless `least` is 0: then an earlier call may still come, and must find a higher number.
-- Returns {slots of this machine, slots of others, the number that stands}.

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

local fields = redis.pcall('HGETALL', key)
if fields.err then
    if string.sub(fields.err, 1, 9) ~= 'WRONGTYPE' then
        return fields  -- it says nothing of the slots: the user may not do this, ...
    end
    redis.call('DEL', key)
    fields = {}
end

-- Slots, deadline and number, if Lua holds them exactly, no limit is lower than the slots, and a call may have that number: they are
-- milliseconds of the epoch, and grow no faster than that, also after one that lies some hundred years ahead.
local function read(text)
    local slots, deadline, count = string.match(text, '^(%d+) (%d+) (%d+)$')
    if slots and #slots < 16 and #deadline < 16 and #count < 16 and tonumber(slots) <= 1e12 and tonumber(count) <= now + 1e13 then
        return tonumber(slots), tonumber(deadline), tonumber(count)
    end
    return 0, 0, 0
end

local others, mine, stands, last = 0, 0, 0, now
for i = 1, #fields, 2 do
    local slots, deadline, count = read(fields[i + 1])
    -- A later deadline than these comes from a server whose clock was wrong.
    local valid = deadline > now and deadline <= now + ttl + 60000
    if fields[i] == me then
        mine, stands = valid and slots or 0, count
    elseif valid then
        others, last = others + slots, math.max(last, deadline)
    else
        redis.call('HDEL', key, fields[i])
    end
end
if stands > number then
    return {mine, others, stands}
end

local got = math.min(want, math.max(mine, limit - others))
if got < least then
    got = least - 1
end
if got == 0 and least > 0 then
    redis.call('HDEL', key, me)
else
    redis.call('HSET', key, me, string.format('%.0f %.0f %.0f', got, now + ttl, number))
    last = math.max(last, now + ttl)
end
redis.call('PEXPIRE', key, string.format('%.0f', last - now + 1000))
return {got, others, number}
