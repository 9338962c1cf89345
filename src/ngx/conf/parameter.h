#pragma once

#include <string_view>

#include "ngx/conf/conf.h"

namespace rate_limit {

// The values that parameters of a rate_limit line take, many of which are also those of a directive of their
// own. Each returns NGX_CONF_OK; or it refuses the text by an error that names the directive at hand and what
// it takes.

char* parse_name(ngx_conf_t* cf, ngx_str_t text, std::string_view& name) noexcept;
char* parse_window(ngx_conf_t* cf, ngx_str_t text, const NamedKind*& kind) noexcept;
char* parse_burst_text(ngx_conf_t* cf, ngx_str_t text, Value*& burst) noexcept;
char* parse_delay(ngx_conf_t* cf, ngx_str_t text, std::int64_t& delay) noexcept;
char* parse_mode(ngx_conf_t* cf, ngx_str_t text, const NamedMode*& mode) noexcept;
char* parse_phase(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& phase) noexcept;
char* parse_store(ngx_conf_t* cf, ngx_str_t text, Value*& store) noexcept;
char* parse_cost_value(ngx_conf_t* cf, ngx_str_t text, CostValue*& cost) noexcept;
char* parse_reserve(ngx_conf_t* cf, ngx_str_t text, CostValue*& reserve) noexcept;
char* parse_dry_run(ngx_conf_t* cf, ngx_str_t text, DryRun& dry_run) noexcept;
char* parse_lease(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& lease) noexcept;
char* parse_shown(ngx_conf_t* cf, ngx_str_t text, bool& hidden) noexcept;
char* parse_jitter(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& jitter) noexcept;
char* parse_penalty(ngx_conf_t* cf, ngx_str_t text, Millis& penalty) noexcept;
char* parse_status(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& status) noexcept;

/// A directive that sets one of the block's options, which is unset before, by its only value.
template <auto parse, auto option>
char* set_option(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& value = static_cast<LocationConf*>(conf)->options.*option;
    return value == Options{}.*option ? parse(cf, words_of(cf)[1], value) : duplicate;
}

/// Adds a word of StatusSet. `question` ends the error: what else the word may have been meant as.
char* parse_exempt_status(ngx_conf_t* cf, std::string_view text, StatusSet& exempt,
                          const char* question) noexcept;

/// Words between commas, or `off`, which makes an empty set.
char* parse_exempt(ngx_conf_t* cf, ngx_str_t text, StatusSet*& exempt) noexcept;

}  // namespace rate_limit
