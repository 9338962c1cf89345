#include <array>
#include <iterator>
#include <string_view>

#include "core/append.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/parameter.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

struct Parameter {
    std::string_view name;
    char* (*parse)(ngx_conf_t* cf, ngx_str_t value, Limit& limit);
};

template <auto parse, auto member>
char* parse_into(ngx_conf_t* cf, ngx_str_t value, Limit& limit) noexcept {
    return parse(cf, value, limit.*member);
}

constexpr Parameter parameters[] = {
    {"burst", parse_into<parse_burst_text, &Limit::burst_text>},
    {"name", parse_into<parse_name, &Limit::name>},
    {"key", parse_into<parse_key, &Limit::key>},
    {"window", parse_into<parse_window, &Limit::window_kind>},
    {"store", parse_into<parse_store, &Limit::store_text>},
    {"mode", parse_into<parse_mode, &Limit::mode>},
    {"phase", parse_into<parse_phase, &Limit::phase>},
    {"cost", parse_into<parse_cost_value, &Limit::cost>},
    {"exempt", parse_into<parse_exempt, &Limit::exempt>},
    {"dry_run", parse_into<parse_dry_run, &Limit::dry_run>},
    {"status", parse_into<parse_status, &Limit::status>},
};

char* refuse_parameter(ngx_conf_t* cf, ngx_str_t text) noexcept {
    std::array<u_char, 300> names;
    u_char* end = names.data();
    for (const Parameter& known : parameters) {
        const ngx_str_t name = str(known.name);
        const bool last = &known == std::end(parameters) - 1;
        const char* before = &known == parameters ? "" : last ? " and " : ", ";
        end = ngx_slprintf(end, names.data() + names.size(), "%s%V=", before, &name);
    }
    const ngx_str_t known = {static_cast<std::size_t>(end - names.data()), names.data()};
    return refuse(cf, "unknown parameter \"%V\" in \"rate_limit\": it takes %V", &text, &known);
}

char* parse_rate_text(ngx_conf_t* cf, ngx_str_t text, Limit& limit) noexcept {
    if (compile(cf, text, &limit.rate_text) != NGX_OK) {
        return failed;
    }
    if (!limit.has_constant_rate()) {
        return NGX_CONF_OK;
    }
    const RateError error = parse_rate(view(text), true, limit.rate);
    if (error != RateError::none) {
        return refuse(cf, "invalid rate \"%V\" in \"rate_limit\": %s", &text, describe(error));
    }
    auto* digits = static_cast<char*>(ngx_pnalloc(cf->pool, max_number));
    if (digits == nullptr) {
        return failed;
    }
    const char* end = append(digits, limit.rate.limit);
    limit.digits = {digits, static_cast<std::size_t>(end - digits)};
    return NGX_CONF_OK;
}

char* parse_parameter(ngx_conf_t* cf, ngx_uint_t at, Limit& limit) noexcept {
    const ngx_str_t text = words_of(cf)[at];
    const std::string_view whole = view(text);
    const auto equals = whole.find('=');
    if (equals == std::string_view::npos) {
        return refuse(cf, "invalid parameter \"%V\" in \"rate_limit\": write NAME=VALUE%s", &text,
                      ask_for_semicolon(cf, at));
    }
    if (refuse_inner_quotes(cf, text) != NGX_CONF_OK) {
        return failed;
    }
    for (const Parameter& known : parameters) {
        if (known.name == whole.substr(0, equals)) {
            return known.parse(cf, {text.len - equals - 1, text.data + equals + 1}, limit);
        }
    }
    return refuse_parameter(cf, text);
}

/// A location has few lines: comparing the parameter names of one line pairwise needs no table.
bool repeats(const ngx_str_t* words, ngx_uint_t at) noexcept {
    const std::string_view word = view(words[at]);
    const std::string_view name = word.substr(0, word.find('=') + 1);
    for (ngx_uint_t i = 2; i < at; ++i) {
        if (view(words[i]).substr(0, name.size()) == name) {
            return true;
        }
    }
    return false;
}

/// Refuses what does not go together in one line.
char* check_together(ngx_conf_t* cf, const Limit& limit) noexcept {
    const bool by_clock = limit.window_kind == WindowKind::clock;
    if (limit.burst_text != nullptr && (by_clock || limit.rate.month)) {
        return refuse(cf,
                      "\"burst=\" makes \"rate_limit\" a token bucket, which has no windows: remove "
                      "\"window=clock\", or \"burst=\"");
    }
    if (limit.burst_text != nullptr && limit.mode != nullptr && limit.mode->local_bucket == nullptr) {
        return refuse(cf,
                      "a token bucket is charged before the request: remove \"mode=%s\" from the "
                      "\"rate_limit\" with \"burst=\"",
                      limit.mode->name);
    }
    if (limit.rate.month && !by_clock) {
        return refuse(cf, "invalid rate \"%V\" in \"rate_limit\": %s", &words_of(cf)[1],
                      describe(RateError::month_without_clock));
    }
    return NGX_CONF_OK;
}

}  // namespace

char* set_rate_limit(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    const ngx_str_t* words = words_of(cf);
    const bool off = view(words[1]) == "off";
    const bool written = location.lines != NGX_CONF_UNSET_PTR;

    if (off && cf->args->nelts > 2) {
        return refuse(cf, "\"rate_limit off\" takes no parameters: remove \"%V\"%s", &words[2],
                      ask_for_semicolon(cf, 2));
    }
    if (off ? written : written && location.lines == nullptr) {
        return refuse(cf,
                      "\"rate_limit off\" stands beside another \"rate_limit\" of the same block: keep one");
    }
    if (off) {
        location.lines = nullptr;
        return NGX_CONF_OK;
    }
    if (!written) {
        location.lines = ngx_array_create(cf->pool, 2, sizeof(Limit));
        if (location.lines == nullptr) {
            return failed;
        }
    }
    auto* limit = static_cast<Limit*>(ngx_array_push(location.lines));
    if (limit == nullptr) {
        return failed;
    }
    *limit = Limit{};
    limit->file = cf->conf_file->file.name;
    limit->line = cf->conf_file->line;
    ngx_str_set(&limit->name, "default");

    if (parse_rate_text(cf, words[1], *limit) != NGX_CONF_OK) {
        return failed;
    }
    for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
        if (parse_parameter(cf, i, *limit) != NGX_CONF_OK) {
            return failed;
        }
        if (repeats(words, i)) {
            return refuse(cf, "duplicate parameter \"%V\" in \"rate_limit\": keep one", &words[i]);
        }
    }
    return check_together(cf, *limit);
}

}  // namespace rate_limit
