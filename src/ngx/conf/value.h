#pragma once

#include "ngx/values/value.h"

namespace rate_limit {

// How words of the configuration become values, and errors about words that cannot have been meant as they
// were written.

/// Makes a value of a text that may hold variables. NGX_ERROR where that fails; the error is logged.
ngx_int_t compile(ngx_conf_t* cf, ngx_str_t text, Value& value) noexcept;

/// Compiles the text into a value in the configuration's pool. Null where that fails or there is no memory.
Value* compiled(ngx_conf_t* cf, ngx_str_t text) noexcept;

/// Whether both are made of the same parts, as `$name` and `${name}` are.
bool same_value(const Value& a, const Value& b) noexcept;

/// Whether it is 1 to `most` of A-Z a-z 0-9 _ . -
bool is_name(std::string_view text, std::size_t most) noexcept;

/// Refuses NAME="VALUE": nginx takes quotes off a word only where the word begins with them, so that these
/// would be part of the value.
char* refuse_inner_quotes(ngx_conf_t* cf, const ngx_str_t& word) noexcept;

/// Ends an error about the word at place `at` of the directive: asks whether a semicolon is missing before
/// it, if the word looks like the next directive; else "".
const char* ask_for_semicolon(ngx_conf_t* cf, ngx_uint_t at) noexcept;

}  // namespace rate_limit
