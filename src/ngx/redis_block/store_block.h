#pragma once

#include <string>

#include "limiter/store_conf.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

/// The value of one line `ssl…`, and where it stands. Without a value there is no such line.
struct TlsLine {
    ngx_str_t value{};
    ngx_str_t file{};
    ngx_uint_t line = 0;
};

/// How the connections of a store are encrypted: the lines `ssl…` of its block.
struct TlsConf {
    bool verify = true;
    std::string name;  ///< the name on every certificate; empty: each node's own host or address
    TlsLine trusted;
    TlsLine certificate;
    TlsLine key;
    TlsLine name_line;
    TlsLine verify_line;
    ngx_ssl_t* ssl = nullptr;  ///< made of the above; null: off. Ends with the configuration's pool
};

/// One rate_limit_redis block, with what nginx alone needs of it. Destroyed with the configuration's pool.
struct StoreBlock final : StoreConf {
    ngx_str_t file;
    ngx_uint_t line;
    unsigned written = 0;  // which directives the block has: bits, in the order of their table

    std::vector<StoreBlock*> regions;  // as written; once all is read, but for the one here
    bool ended = true;                 // false: a region whose block is being read

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
