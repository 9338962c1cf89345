-- Takes tokens from a client's bucket, as far as they are there, or puts some back. The bucket is GCRA's: what is stored is the
-- instant when it will be full again, in nanoseconds of the epoch, and after a space the longest time that any of the limits that
-- share it takes to fill it. An instant beyond that stands for a bucket that is empty now; any other text for a full one.
-- KEYS[1]: a string of these. ARGV: token, fill (how many nanoseconds it takes to refill one token, and all), want, least,
-- parts, and perhaps the time as TIME says it, seconds and microseconds, for servers where a script may not ask for it.
-- Takes `want`, or what is left; nothing if that is less than `least`; with parts > 1 at most one of so many parts of what is
-- left, unless `least` is more. With parts 0 takes `want` in any case, as far as this limit reaches. Puts -want back where it is
-- negative. Returns {taken, left, missing, wait}: nanoseconds until the bucket is full, and, where nothing is taken, until
-- `least` fit.

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
local missing, longest, beyond = 0, fill, false
local instant_s, instant_ns, longest_before = string.match(text or '', '^([1-9]%d%d%d%d%d%d%d%d%d)(%d%d%d%d%d%d%d%d%d) ([1-9]%d*)$')
if instant_s and #longest_before <= 19 then
    missing = math.max((tonumber(instant_s) - now_s) * 1e9 + tonumber(instant_ns) - now_ns, 0)
    if missing > 0 then
        longest = math.max(fill, tonumber(longest_before))
    end
    beyond = missing > longest
    missing = math.min(missing, longest)
end

local function store()
    if missing == 0 then
        redis.call('DEL', key)
        return
    end
    local ns = now_ns + missing
    local instant = string.format('%.0f%09.0f', now_s + math.floor(ns / 1e9), ns % 1e9)
    redis.call('SET', key, instant .. string.format(' %.0f', longest), 'PX', string.format('%.0f', math.ceil(missing / 1e6) + 1000))
end

local left = math.floor(math.max(fill - missing, 0) / token)
local taken = want
if want > 0 and parts > 0 then
    taken = math.min(want, left, math.max(least, math.floor(left / parts)))
    if taken < least or taken == 0 then
        if beyond then
            store()  -- as empty now, so that it fills from here on
        end
        return {0, left, missing, math.max(missing + least * token - fill, 0)}
    end
end
if taken < 0 then
    missing = math.max(missing + taken * token, 0)
else
    missing = math.max(missing, math.min(missing + taken * token, fill))
end
store()
return {math.max(taken, 0), math.floor(math.max(fill - missing, 0) / token), missing, 0}
