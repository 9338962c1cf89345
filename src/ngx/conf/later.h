#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

// Words of configurations that a later version will take. Each is refused as "not available yet", so that
// nobody looks for a mistake of spelling.

enum class Later : unsigned char {
    parameter,  ///< the name of a parameter of rate_limit
    store,      ///< a directive of rate_limit_redis
    variable,   ///< its name
};

/// Whether a later version will take the word.
bool is_later(Later kind, std::string_view word) noexcept;

/// Refuses a word of the directive that is being read.
char* refuse_later(ngx_conf_t* cf, const ngx_str_t& word) noexcept;

/// Refuses variables that the configuration uses and does not define. Runs when all of http is read.
/// NGX_ERROR where there are some; the error is logged.
ngx_int_t refuse_later_variables(ngx_conf_t* cf) noexcept;

}  // namespace rate_limit
