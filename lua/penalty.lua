-- Begins a penalty of a client, ends it, or says how long it lasts. Until it ends the client is rejected, whatever is used.
-- KEYS[1]: a hash of used, reset and perhaps until; or a string of lua/bucket.lua, with until as a fourth big-endian number of 64
-- bits. until: when the penalty ends, in milliseconds of the epoch; 0: an operator has ended it.
-- ARGV: window or bucket; how many milliseconds a penalty lasts that begins, where none runs, or 0: begins none, or -1: ends it;
-- now, in milliseconds, for a window; for a bucket nothing, and perhaps the time as TIME says it, seconds and microseconds, for
-- servers where a script may not ask for it.
-- Returns {milliseconds that are left, 1 if an operator has ended the last one}. Another type is left as it is, and has no penalty.
-- Redis refuses what its user may not do before anything is written.

local key, of_bucket, life, now = KEYS[1], ARGV[1] == 'bucket', tonumber(ARGV[2]), tonumber(ARGV[3])
if of_bucket then
    local seconds, micros = ARGV[4], ARGV[5]
    if not seconds then
        local time = redis.pcall('TIME')
        if time.err then
            return redis.error_reply('NOTIME ' .. time.err)  -- the caller tells its own
        end
        seconds, micros = time[1], time[2]
    end
    now = tonumber(seconds) * 1000 + math.floor(tonumber(micros) / 1000)
end

local text
if of_bucket then
    text = redis.pcall('GET', key)
else
    text = redis.pcall('HGET', key, 'until')
end
if type(text) == 'table' then
    return string.sub(text.err, 1, 9) == 'WRONGTYPE' and {0, 0} or text
end
local half = 4294967296
local ends
if of_bucket and text and #text == 32 then
    local high, low = struct.unpack('>I4I4', string.sub(text, 25))
    ends = high * half + low
elseif not of_bucket and text and #text < 16 and string.find(text, '^%d+$') then
    ends = tonumber(text)
end

-- One that lasts longer was written by a machine whose clock was wrong: no penalty is longer than 366 days.
local runs = ends and ends > now and ends <= now + 366 * 86400000 + 60000
if life == 0 or life > 0 and runs then
    return {runs and ends - now or 0, ends == 0 and 1 or 0}
end

-- That it has ended stands there for a minute at least: other machines ask within that.
local before = redis.call('PTTL', key)
local expiry = string.format('%.0f', math.max(before, life > 0 and life + 1000 or 60000))
redis.call('PEXPIRE', key, expiry)  -- a key that is not there stays away
ends = life > 0 and now + life or 0
if of_bucket then
    local bucket = text and string.sub(text, 1, 24) or ''
    bucket = bucket .. string.rep('\0', 24 - #bucket)
    redis.call('SET', key, bucket .. struct.pack('>I4I4', math.floor(ends / half), ends % half), 'PX', expiry)
else
    redis.call('HSET', key, 'until', string.format('%.0f', ends))
    redis.call('PEXPIRE', key, expiry)
end
return {math.max(life, 0), life < 0 and 1 or 0}
