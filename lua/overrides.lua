-- Sets one of the overrides that machines share, or ends it.
-- KEYS[1]: a hash of `version`, a number that grows, and a field for each override. ARGV: the least version after this; how many overrides there may be; `=` and
-- what the version must still say for all to begin anew, or nothing; the field, and its value, empty where the override ends; then more fields and values: where
-- all is to begin anew, the others that there are, else overrides that have ended, which go unless somebody has set them since.
-- Returns all fields and values as they are then; none, and nothing is set: there are too many.

local key, most, field, value = KEYS[1], tonumber(ARGV[2]), ARGV[4], ARGV[5]
local version = redis.call('HGET', key, 'version') or ''
local anew = ARGV[3] == '=' .. version

if anew then
    redis.call('DEL', key)
end
for i = 6, #ARGV, 2 do
    if anew then
        redis.call('HSET', key, ARGV[i], ARGV[i + 1])
    elseif ARGV[3] == '' and redis.call('HGET', key, ARGV[i]) == ARGV[i + 1] then
        redis.call('HDEL', key, ARGV[i])
    end
end
if value == '' then
    redis.call('HDEL', key, field)
elseif redis.call('HLEN', key) <= most or redis.call('HGET', key, field) then
    redis.call('HSET', key, field, value)
else
    return {}
end
redis.call('HSET', key, 'version', string.format('%.0f', math.max(tonumber(ARGV[1]), anew and 0 or (tonumber(version) or 0) + 1)))
return redis.call('HGETALL', key)
