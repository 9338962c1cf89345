-- Takes tokens from a client's bucket, as far as they are there, or puts some back. The bucket is GCRA's: all that is stored is
-- the instant when it will be full again, in nanoseconds of the epoch; any other value stands for a full bucket, or an empty one.
-- KEYS[1]: that instant, a string. ARGV: token, fill (how many nanoseconds it takes to refill one token, and all), want, least,
-- parts, and perhaps the time as TIME says it, seconds and microseconds, for servers where a script may not ask for it.
-- Takes `want`, or what is left; nothing if that is less than `least`; with parts > 1 at most one of so many parts of what is
-- left, unless `least` is more. With parts 0 takes `want` in any case. Puts -want back where it is negative.
-- Returns {taken, left, missing, wait}: nanoseconds until the bucket is full, and, where nothing is taken, until `least` fit.

local key, token, fill, want, least, parts = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local seconds, micros = ARGV[6], ARGV[7]
if not seconds then
    local time = redis.call('TIME')
    seconds, micros = time[1], time[2]
end
-- Instants have 19 digits, and Lua's numbers hold 15: seconds and the rest are reckoned apart.
local now_s, now_ns = tonumber(seconds), tonumber(micros) * 1000

local text = redis.pcall('GET', key)
if type(text) == 'table' then
    if string.sub(text.err, 1, 9) ~= 'WRONGTYPE' then
        return text  -- it says nothing of the bucket: the user may not do this, memory is short, ...
    end
    text = false
end
local missing = 0
if text and #text == 19 and string.find(text, '^[1-9]%d*$') then
    missing = (tonumber(string.sub(text, 1, 10)) - now_s) * 1e9 + tonumber(string.sub(text, 11)) - now_ns
    missing = math.min(math.max(missing, 0), fill)
end

local left = math.floor((fill - missing) / token)
local taken = want
if want > 0 and parts > 0 then
    taken = math.min(want, left, math.max(least, math.floor(left / parts)))
    if taken < least or taken == 0 then
        return {0, left, missing, math.max(missing + least * token - fill, 0)}
    end
end
missing = math.min(math.max(missing + taken * token, 0), fill)

if missing == 0 then
    redis.call('DEL', key)
else
    local ns = now_ns + missing
    local instant = string.format('%.0f%09.0f', now_s + math.floor(ns / 1e9), ns % 1e9)
    redis.call('SET', key, instant, 'PX', string.format('%.0f', math.ceil(missing / 1e6) + 1000))
end
return {math.max(taken, 0), math.floor((fill - missing) / token), missing, 0}
