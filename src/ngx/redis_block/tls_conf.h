#pragma once

#include <string>

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

}  // namespace rate_limit
