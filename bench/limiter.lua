-- The limiter, written again in Lua with Debian's packages: the window is read on the replica before the request, and a timer
-- charges the primary after the response. A window that is known to be open is charged by a plain HINCRBY. The CRC of a key
-- decides its shard.

local redis = require "nginx.redis"

local period = 3600000  -- times in milliseconds
local prefix = "lua:core/3600:"
local idle, pool = 60000, 1024

local _M = {}
local shards, limit, charge_script

function _M.configure(options)
    shards, limit = options.shards, options.limit
    local file = assert(io.open(options.script))
    charge_script = file:read("*a")
    file:close()
end

local function connect(port)
    local connection = redis:new()
    connection:set_timeouts(100, 100, 100)
    local ok, err = connection:connect("127.0.0.1", port)
    if not ok then
        return nil, err
    end
    return connection
end

local function now()
    return math.floor(ngx.now() * 1000 + 0.5)
end

function _M.check()
    local key = prefix .. ngx.var.arg_k
    local shard = shards[ngx.crc32_short(key) % #shards + 1]
    local connection, err = connect(shard.replica)
    if not connection then
        ngx.log(ngx.ERR, "check: ", err)
        return
    end
    local answer, err = connection:hmget(key, "used", "reset")
    if not answer then
        ngx.log(ngx.ERR, "check: ", err)
        return
    end
    connection:set_keepalive(idle, pool)

    local used, reset = tonumber(answer[1]), tonumber(answer[2])
    local time = now()
    local open = used and reset and reset > time
    if not open then
        used, reset = 0, time + period
    end
    local rejected = used >= limit
    local ctx = ngx.ctx
    ctx.key, ctx.shard, ctx.used, ctx.reset, ctx.open, ctx.rejected = key, shard, used, reset, open, rejected
    if rejected then
        return ngx.exit(429)
    end
end

function _M.headers()
    local ctx = ngx.ctx
    local reset = ctx.reset
    if not reset then
        return
    end
    local used = ctx.rejected and ctx.used or ctx.used + 1
    local header = ngx.header
    header["X-RateLimit-Limit"] = limit
    header["X-RateLimit-Used"] = used
    header["X-RateLimit-Remaining"] = used < limit and limit - used or 0
    header["X-RateLimit-Reset"] = math.ceil(reset / 1000)
    header["X-RateLimit-Resource"] = "core"
    if ctx.rejected then
        header["Retry-After"] = math.max(1, math.ceil((reset - now()) / 1000))
    end
end

local function charge(_, key, shard, reset, open)
    local connection, err = connect(shard.primary)
    if not connection then
        ngx.log(ngx.ERR, "charge lost: ", err)
        return
    end
    local time = now()
    local answer
    if open and reset - time >= 1000 then
        answer, err = connection:hincrby(key, "used", 1)
    else
        answer, err = connection:eval(charge_script, 1, key, 1, time, reset, time + period + 60000)
    end
    if not answer then
        ngx.log(ngx.ERR, "charge lost: ", err)
        return
    end
    connection:set_keepalive(idle, pool)
end

function _M.log()
    local ctx = ngx.ctx
    if not ctx.key or ctx.rejected or ngx.status == 304 then
        return
    end
    local ok, err = ngx.timer.at(0, charge, ctx.key, ctx.shard, ctx.reset, ctx.open)
    if not ok then
        ngx.log(ngx.ERR, "charge lost: ", err)
    end
end

return _M
