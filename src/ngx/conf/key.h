#pragma once

#include "ngx/base/ngx.h"
#include "ngx/values/value.h"

namespace rate_limit {

struct LocationConf;
struct MainConf;

/// The value of rate_limit_key, or of the parameter key= of a rate_limit line. Lives in the configuration's
/// pool, and is shared by all limits that inherit it.
struct Key {
    Value value;
    ngx_str_t file;
    ngx_uint_t line;
    bool parameter;  // it is a parameter key=
    bool checked;    // check_keys() has looked at it
    bool own_told;   // the configuration has warned that it holds what this module sets later
};

/// Makes a key of the value of the directive, or of the parameter, that is being read.
char* parse_key(ngx_conf_t* cf, ngx_str_t text, Key*& key) noexcept;

/// Whether the key refers to the variable: `$name` or `${name}`.
bool refers_to(const Key& key, std::string_view variable) noexcept;

/// Warns, once for each key in effect, where it will not do what its author meant. Runs when all of http is
/// merged and all variables are known.
void check_keys(ngx_conf_t* cf, const MainConf& main) noexcept;

/// Warns, once for each key and line, about values of the location's limits that hold what is not known yet
/// when limits are checked. What a key holds of the response is told by check_keys().
void check_values(ngx_conf_t* cf, const LocationConf& conf) noexcept;

}  // namespace rate_limit
