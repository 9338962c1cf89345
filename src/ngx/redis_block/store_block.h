#pragma once

#include "limiter/store_conf.h"
#include "ngx/base/ngx.h"
#include "ngx/redis_block/tls_conf.h"

namespace rate_limit {

/// One rate_limit_redis block, with what nginx alone needs of it. Destroyed with the configuration's pool.
struct StoreBlock final : StoreConf {
    ngx_str_t file;
    ngx_uint_t line;
    unsigned written = 0;  // which directives the block has: bits, in the order of their table

    TlsConf tls;  // meaningless unless `encrypted`

    ngx_resolver_t* resolver = nullptr;  // http's resolver; null: names are not resolved again
    ngx_msec_t resolver_timeout = 0;
};

/// All blocks of nginx are of this kind.
inline const StoreBlock& block_of(const StoreConf& store) noexcept {
    return static_cast<const StoreBlock&>(store);
}

inline StoreBlock& block_of(StoreConf& store) noexcept {
    return static_cast<StoreBlock&>(store);
}

}  // namespace rate_limit
