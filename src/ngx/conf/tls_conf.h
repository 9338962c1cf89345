#pragma once

#include <string>

#include "ngx/base/ngx.h"

namespace rate_limit {

/// A file that the configuration names, and where it does. Empty: none.
struct NamedFile {
    ngx_str_t path{};
    ngx_str_t file{};
    ngx_uint_t line = 0;
};

/// How the connections of a store are encrypted: the lines `ssl…` of its block.
struct TlsConf {
    bool on = false;
    bool verify = true;
    std::string name;  ///< what every certificate has to be for; empty: each node's own host or address
    NamedFile trusted;
    NamedFile certificate;
    NamedFile key;
    ngx_ssl_t* ssl = nullptr;  ///< made of the above; null: off. Ends with the configuration's pool
};

}  // namespace rate_limit
