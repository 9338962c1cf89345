-- Sets one of the overrides that machines share, or ends it.
-- KEYS[1]: a hash of `version`, a number that grows, and a field for each override. ARGV: the least version after this; how many overrides there may be; `=` and
-- what the version must still say for all to begin anew, or nothing; the field, and its value, empty where the override ends; then more fields and values: where
-- all is to begin anew, the others that there are, else overrides that have ended, which go unless somebody has set them since.
-- Returns all fields and values as they are then; none, and nothing is set: there are too many. What the user may not do is refused before
-- anything is changed.

local key, most, field, value = KEYS[1], tonumber(ARGV[2]), ARGV[4], ARGV[5]
local call = redis.call
local before = call('HGETALL', key)
local known, ended, count = {}, {}, 0
for i = 1, #before, 2 do
    known[before[i]] = before[i + 1]
end
local version = known.version or ''
local anew = ARGV[3] == '=' .. version
local fields = anew and {} or known
for i = 6, #ARGV, 2 do
    if anew then
        fields[ARGV[i]] = ARGV[i + 1]
    elseif ARGV[3] == '' and fields[ARGV[i]] == ARGV[i + 1] then
        fields[ARGV[i]] = nil
        ended[#ended + 1] = ARGV[i] ~= field and ARGV[i] or nil
    end
end
for _ in pairs(fields) do
    count = count + 1
end
if value ~= '' and count > most and not fields[field] then
    return {}
end
local next_version = string.format('%.0f', math.max(tonumber(ARGV[1]), anew and 0 or (tonumber(version) or 0) + 1))

if value == '' or anew then
    call('HDEL', key, '')  -- there is none
end
if anew then
    if #before > 0 then
        call('HSET', key, before[1], before[2])  -- changes nothing: the right is there before DEL is done
        call('DEL', key)
    end
    for i = 6, #ARGV, 2 do
        call('HSET', key, ARGV[i], ARGV[i + 1])
    end
end
if value == '' then
    call('HSET', key, 'version', next_version)
    call('HDEL', key, field)
else
    call('HSET', key, field, value, 'version', next_version)
end
for _, other in ipairs(ended) do
    redis.pcall('HDEL', key, other)
end
return call('HGETALL', key)
