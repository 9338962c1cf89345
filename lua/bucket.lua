-- Takes tokens from a client's bucket, as far as they are there, or puts some back. The bucket is GCRA's: what is stored is the
-- instant when it will be full again, in nanoseconds of the epoch, the longest time that any of the limits that share it takes
-- to fill it, and how much has ever been put back, in nanoseconds of refilling, from when the key was made: three big-endian
-- numbers of 64 bits, the first one with its highest bit set, the sign of this script. Plain BITFIELD commands move the instant
-- on (see CommandWriter::take): where the key was gone, what they leave has no sign. A fourth number may be there, which stays:
-- when a penalty ends (see lua/penalty.lua). So an instant may be ahead by what is put
-- back soon; one more than twice that longest time away stands for a bucket that is empty now. Anything else stands for a full
-- one, and gives way to what takes tokens. Another type is left where nothing is taken.
-- KEYS[1]: a string of these. ARGV: token, fill (how many nanoseconds it takes to refill one token, and all), want, least,
-- parts, and perhaps a receipt, the halves of its mark and microseconds, or `last` (see core/limit/bucket.h), and the time as TIME
-- says it, seconds and microseconds, for servers where a script may not ask for it.
-- Takes `want`, or what is left; nothing if that is less than `least`; with parts > 1 at most one of so many parts of what is
-- left, unless `least` is more. With parts 0 takes `want` in any case, as far as this limit reaches. Puts -want back where it is
-- negative, with a receipt as far as that has not been refilled since it was taken; with `last` in it nothing, if anything was
-- taken after it. Writes nothing where
-- nothing is wanted, but with parts 0, which lets the key live on. Returns {taken, left, missing, wait, time, high, low}:
-- nanoseconds until the bucket is full, and, where nothing is taken, until `least` fit; microseconds of the epoch; the halves of
-- how much has been put back; and an eighth number, 1, where another type was in the bucket's place, and has given way to it.

local key, token, fill, want, least, parts = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local mark_high, mark_low, at = tonumber(ARGV[6] or ''), tonumber(ARGV[7] or ''), tonumber(ARGV[8] or '')
local seconds, micros = ARGV[9], ARGV[10]
if not seconds then
    local time = redis.pcall('TIME')
    if time.err then
        return redis.error_reply('NOTIME ' .. time.err)  -- the caller tells its own
    end
    seconds, micros = time[1], time[2]
end
seconds, micros = tonumber(seconds), tonumber(micros)
-- Instants have 61 bits, and Lua's numbers hold 53: their halves of 32 bits are reckoned apart.
local half, sign = 4294967296, 2147483648
local upper = math.floor(seconds / 65536) * 1e9
local now_low = upper % 65536 * 65536 + seconds % 65536 * 1e9 + micros * 1000
local now_high = math.floor(upper / 65536) + math.floor(now_low / half)
now_low = now_low % half

local bytes, replaced = redis.pcall('GET', key), nil
if type(bytes) == 'table' then
    if string.sub(bytes.err, 1, 9) ~= 'WRONGTYPE' then
        return bytes  -- it says nothing of the bucket: the user may not do this, memory is short, ...
    end
    bytes, replaced = false, 1
end
local most = 946728000000000000  -- no bucket takes longer to fill
local missing, longest, beyond, known = 0, fill, false, false
-- Another count than an earlier key had, so that its marks are worth nothing here: far away from it, whenever that was made.
local back_high, back_low = (seconds % 65536 * 65521 + micros * 4294) % half, now_low
local function put_back(worth)
    missing = missing - worth
    back_low = back_low + worth % half
    back_high = (back_high + math.floor(worth / half) + math.floor(back_low / half)) % half
    back_low = back_low % half
end
local penalty = bytes and #bytes == 32 and string.sub(bytes, 25) or ''
if bytes and (#bytes == 24 or penalty ~= '') then
    local high, low, longest_high, longest_low, put_high, put_low = struct.unpack('>I4I4I4I4I4I4', bytes)
    local before = longest_high * half + longest_low
    known = high >= sign and before > 0 and before <= most
    if known then
        missing = math.max((high - sign - now_high) * half + low - now_low, 0)
        longest = math.max(fill, before)
        beyond = missing > 2 * longest
        back_high, back_low = put_high, put_low
    end
end
if beyond then
    put_back(missing)  -- no mark of what was taken before is worth anything any more
    missing = longest
end

local function store()
    if missing == 0 and not known and penalty == '' then
        redis.call('DEL', key)
        return
    end
    local life = math.ceil(missing / 1e6) + 60000 + math.floor(longest / 16e6)
    if known or penalty ~= '' then  -- machines count on the life that it had
        life = math.max(life, redis.call('PTTL', key))
    end
    local low = now_low + missing % half
    local high = sign + now_high + math.floor(missing / half) + math.floor(low / half)
    local value = struct.pack('>I4I4I4I4I4I4', high, low % half, math.floor(longest / half), longest % half, back_high, back_low)
    redis.call('SET', key, value .. penalty, 'PX', string.format('%.0f', life))
end

local left = math.floor(math.max(fill - missing, 0) / token)
local now = seconds * 1e6 + micros
local taken = want
if want == 0 and parts > 0 or replaced and want <= 0 then
    return {0, left, math.min(missing, most), 0, now, back_high, back_low}
end
if want > 0 and parts > 0 then
    taken = math.min(want, left, math.max(least, math.floor(left / parts)))
    if taken < least or taken == 0 then
        if beyond then
            store()  -- the bucket is empty now, and fills from here on
        end
        return {0, left, math.min(missing, most), math.max(missing + least * token - fill, 0), now, back_high, back_low}
    end
end
if taken < 0 then
    local worth, last = -taken * token, ARGV[8] == 'last'
    if mark_high then  -- all numbers are modulo 2^64: what is left until the mark may be negative
        local high = (mark_high - back_high - now_high) % half
        high = high < sign and high or high - half
        local rest = high * half + mark_low - back_low - now_low
        rest = rest <= 2 * longest and rest or 0  -- a mark further away is of another count
        if last then
            worth = rest == missing and worth or 0
        else
            worth = math.min(worth, math.max(rest, at > 0 and worth - (now - at) * 1000 or 0, 0))
        end
    end
    worth = math.min(worth, missing)
    if last then
        missing = missing - worth  -- as if it had never been taken: then the one before it is the last
    else
        put_back(worth)
    end
else
    missing = math.max(missing, math.min(missing + taken * token, fill))
end
store()
return {math.max(taken, 0), math.floor(math.max(fill - missing, 0) / token), math.min(missing, longest), 0, now, back_high, back_low, replaced}
