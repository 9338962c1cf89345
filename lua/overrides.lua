-- Replaces the overrides that machines share, if nobody else has replaced them meanwhile.
-- KEYS[1]: a hash of version and text. ARGV: the version that the caller has read (empty: there was none), the new one, and the new text.
-- Returns {1, 0} if it has, else {0, 0}.

local key, before, version, text = KEYS[1], ARGV[1], ARGV[2], ARGV[3]

if (redis.call('HMGET', key, 'version')[1] or '') ~= before then
    return {0, 0}
end
redis.call('HSET', key, 'version', version, 'text', text)
return {1, 0}
