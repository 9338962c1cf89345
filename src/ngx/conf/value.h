#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

// What a word of the configuration becomes, and what is said of words that were not meant as they stand.

/// The text may hold variables. NGX_ERROR: the error is logged.
ngx_int_t compile(ngx_conf_t* cf, ngx_str_t text, ngx_http_complex_value_t* value) noexcept;

/// The same, in the configuration's pool; null where compile() fails or there is no memory.
ngx_http_complex_value_t* compiled(ngx_conf_t* cf, ngx_str_t text) noexcept;

inline bool is_variable(const ngx_http_complex_value_t& value) noexcept {
    return value.lengths != nullptr;
}

/// Refuses NAME="VALUE": nginx takes quotes off a word only where the word begins with them, so that these
/// would be part of the value.
char* refuse_inner_quotes(ngx_conf_t* cf, const ngx_str_t& word) noexcept;

/// The end of an error about the word at this place of the directive: a question where the word may begin the
/// next directive, else "".
const char* ask_for_semicolon(ngx_conf_t* cf, ngx_uint_t at) noexcept;

}  // namespace rate_limit
