#include <cstdlib>

#include "core/limit/cost.h"
#include "ngx/base/zone.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/value.h"

namespace rate_limit {

ngx_conf_enum_t phase_names[] = {
    {ngx_string("access"), static_cast<ngx_uint_t>(Phase::access)},
    {ngx_string("precontent"), static_cast<ngx_uint_t>(Phase::precontent)},
    {ngx_null_string, 0},
};

namespace {

char* parse_name(ngx_conf_t* cf, ngx_str_t text, ngx_str_t& name) noexcept {
    bool valid = text.len >= 1 && text.len <= 32;
    for (ngx_uint_t i = 0; valid && i < text.len; ++i) {
        const u_char c = text.data[i];
        valid = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
                c == '.' || c == '-';
    }
    if (!valid) {
        return refuse(cf, "invalid name \"%V\" in \"rate_limit\": a name is 1 to 32 of A-Z a-z 0-9 _ . -",
                      &text);
    }
    name = text;
    return NGX_CONF_OK;
}

char* parse_window(ngx_conf_t* cf, ngx_str_t text, WindowKind& window) noexcept {
    if (view(text) == "first") {
        window = WindowKind::first;
    } else if (view(text) == "clock") {
        window = WindowKind::clock;
    } else {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0,
                           "invalid window \"%V\" in \"rate_limit\": it is \"first\" or \"clock\"", &text);
        return failed;
    }
    return NGX_CONF_OK;
}

/// `"a", "b" or "c"`, into the configuration's pool.
ngx_str_t names_of_modes(ngx_conf_t* cf) noexcept {
    constexpr std::size_t most = 500;
    auto* text = static_cast<u_char*>(ngx_pnalloc(cf->pool, most));
    if (text == nullptr) {
        return ngx_null_string;
    }
    u_char* end = text;
    for (const NamedMode* const* known = named_modes; *known != nullptr; ++known) {
        const char* before = known == named_modes ? "" : known[1] != nullptr ? ", " : " or ";
        end = ngx_slprintf(end, text + most, "%s\"%s\"", before, (*known)->name);
    }
    return {static_cast<std::size_t>(end - text), text};
}

char* parse_mode(ngx_conf_t* cf, ngx_str_t text, const NamedMode*& mode) noexcept {
    for (const NamedMode* const* known = named_modes; *known != nullptr; ++known) {
        if (view(text) == (*known)->name) {
            mode = *known;
            return NGX_CONF_OK;
        }
    }
    const ngx_str_t names = names_of_modes(cf);
    return refuse(cf, "invalid mode \"%V\" in \"%V\": it is %V", &text, &words_of(cf)[0], &names);
}

char* parse_phase(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& phase) noexcept {
    for (const ngx_conf_enum_t* known = phase_names; known->name.len != 0; ++known) {
        if (view(known->name) == view(text)) {
            phase = known->value;
            return NGX_CONF_OK;
        }
    }
    return refuse(cf, "invalid phase \"%V\" in \"rate_limit\": it is \"access\" or \"precontent\"", &text);
}

char* parse_store(ngx_conf_t* cf, ngx_str_t text, ngx_http_complex_value_t*& store) noexcept {
    if (text.len == 0) {
        return refuse(cf,
                      "empty store in \"%V\": it is \"local\", the name of a \"rate_limit_redis\" block, or "
                      "a variable that "
                      "holds its name",
                      &words_of(cf)[0]);
    }
    store = compiled(cf, text);
    return store != nullptr ? NGX_CONF_OK : failed;
}

char* parse_cost_value(ngx_conf_t* cf, ngx_str_t text, ngx_http_complex_value_t*& cost) noexcept {
    cost = compiled(cf, text);
    if (cost == nullptr) {
        return failed;
    }
    std::int64_t constant = 0;
    if (cost->lengths == nullptr && !parse_cost(view(text), constant)) {
        return refuse(cf, "invalid cost \"%V\" in \"%V\": it is a whole number from 0 to 1000000000", &text,
                      &words_of(cf)[0]);
    }
    return NGX_CONF_OK;
}

char* parse_dry_run(ngx_conf_t* cf, ngx_str_t text, DryRun& dry_run) noexcept {
    if (view(text) == "on" || view(text) == "off") {
        dry_run.on = view(text) == "on";
        return NGX_CONF_OK;
    }
    if (text.len < 2 || text.data[0] != '$') {
        return refuse(cf, "invalid dry run \"%V\" in \"%V\": it is \"on\", \"off\" or a variable", &text,
                      &words_of(cf)[0]);
    }
    dry_run.on = 1;
    dry_run.value = compiled(cf, text);
    return dry_run.value != nullptr ? NGX_CONF_OK : failed;
}

char* parse_status(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& status) noexcept {
    const ngx_int_t code = ngx_atoi(text.data, text.len);
    if (code < status_bounds.least || code > status_bounds.most) {
        return refuse(cf, "invalid status \"%V\" in \"rate_limit\": it is a status code from %i to %i", &text,
                      status_bounds.least, status_bounds.most);
    }
    status = static_cast<ngx_uint_t>(code);
    return NGX_CONF_OK;
}

char* add_status(ngx_conf_t* cf, std::string_view text, ngx_array_t* list, const char* question) noexcept {
    const ngx_int_t code = ngx_atoi(reinterpret_cast<u_char*>(const_cast<char*>(text.data())), text.size());
    if (code < 100 || code > 599) {
        const ngx_str_t shown = {text.size(), reinterpret_cast<u_char*>(const_cast<char*>(text.data()))};
        return refuse(
            cf, "invalid exempt status \"%V\" in \"%V\": it is a status code from 100 to 599, or \"off\"%s",
            &shown, &words_of(cf)[0], question);
    }
    auto* slot = static_cast<ngx_uint_t*>(ngx_array_push(list));
    if (slot == nullptr) {
        return failed;
    }
    *slot = static_cast<ngx_uint_t>(code);
    return NGX_CONF_OK;
}

/// `CODE,CODE…` or `off`, which leaves an empty list.
char* parse_exempt(ngx_conf_t* cf, ngx_str_t text, ngx_array_t*& exempt) noexcept {
    ngx_array_t* list = ngx_array_create(cf->pool, 4, sizeof(ngx_uint_t));
    if (list == nullptr) {
        return failed;
    }
    exempt = list;
    if (view(text) == "off") {
        return NGX_CONF_OK;
    }
    std::string_view rest = view(text);
    for (;;) {
        const auto comma = rest.find(',');
        if (add_status(cf, rest.substr(0, comma), list, "") != NGX_CONF_OK) {
            return failed;
        }
        if (comma == std::string_view::npos) {
            return NGX_CONF_OK;
        }
        rest.remove_prefix(comma + 1);
    }
}

char* parse_rate_text(ngx_conf_t* cf, ngx_str_t text, Limit& limit) noexcept {
    if (compile(cf, text, &limit.rate_text) != NGX_OK) {
        return failed;
    }
    if (!limit.has_constant_rate()) {
        return NGX_CONF_OK;
    }
    const RateError error = parse_rate(view(text), limit.rate);
    if (error != RateError::none) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "invalid rate \"%V\" in \"rate_limit\": %s", &text,
                           describe(error));
        return failed;
    }
    return NGX_CONF_OK;
}

char* parse_parameter(ngx_conf_t* cf, ngx_uint_t at, Limit& limit) noexcept {
    const ngx_str_t text = words_of(cf)[at];
    const std::string_view whole = view(text);
    const auto equals = whole.find('=');
    const std::string_view parameter = whole.substr(0, equals);
    if (equals == std::string_view::npos) {
        return refuse(cf, "invalid parameter \"%V\" in \"rate_limit\": write NAME=VALUE%s", &text,
                      ask_for_semicolon(cf, at));
    }
    if (refuse_inner_quotes(cf, text) != NGX_CONF_OK) {
        return failed;
    }
    const ngx_str_t value = {text.len - equals - 1, text.data + equals + 1};

    if (parameter == "name") {
        return parse_name(cf, value, limit.name);
    }
    if (parameter == "key") {
        limit.key = add_key(cf, value, true);
        return limit.key != nullptr ? NGX_CONF_OK : failed;
    }
    if (parameter == "window") {
        return parse_window(cf, value, limit.window);
    }
    if (parameter == "store") {
        return parse_store(cf, value, limit.store_text);
    }
    if (parameter == "mode") {
        return parse_mode(cf, value, limit.mode);
    }
    if (parameter == "phase") {
        return parse_phase(cf, value, limit.phase);
    }
    if (parameter == "cost") {
        return parse_cost_value(cf, value, limit.cost);
    }
    if (parameter == "exempt") {
        return parse_exempt(cf, value, limit.exempt);
    }
    if (parameter == "dry_run") {
        return parse_dry_run(cf, value, limit.dry_run);
    }
    if (parameter == "status") {
        return parse_status(cf, value, limit.status);
    }
    ngx_conf_log_error(
        NGX_LOG_EMERG, cf, 0,
        "unknown parameter \"%V\" in \"rate_limit\": it takes name=, key=, window=, store=, mode=, "
        "phase=, cost=, exempt=, dry_run= and status=",
        &text);
    return failed;
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
        ngx_conf_log_error(
            NGX_LOG_EMERG, cf, 0,
            "\"rate_limit off\" stands beside another \"rate_limit\" of the same block: keep one");
        return failed;
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
    limit->phase = NGX_CONF_UNSET_UINT;
    limit->exempt = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
    limit->dry_run.on = NGX_CONF_UNSET;

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
    return NGX_CONF_OK;
}

char* set_store(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.store != nullptr) {
        return duplicate;
    }
    return parse_store(cf, words_of(cf)[1], location.store);
}

char* set_mode(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.mode != nullptr) {
        return duplicate;
    }
    return parse_mode(cf, words_of(cf)[1], location.mode);
}

char* set_cost(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.cost != nullptr) {
        return duplicate;
    }
    return parse_cost_value(cf, words_of(cf)[1], location.cost);
}

char* set_dry_run(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.dry_run.on != NGX_CONF_UNSET) {
        return duplicate;
    }
    return parse_dry_run(cf, words_of(cf)[1], location.dry_run);
}

char* set_exempt_status(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.exempt != NGX_CONF_UNSET_PTR) {
        return duplicate;
    }
    const ngx_str_t* words = words_of(cf);
    if (cf->args->nelts == 2) {
        return parse_exempt(cf, words[1], location.exempt);
    }
    location.exempt = ngx_array_create(cf->pool, cf->args->nelts, sizeof(ngx_uint_t));
    if (location.exempt == nullptr) {
        return failed;
    }
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        if (add_status(cf, view(words[i]), location.exempt, ask_for_semicolon(cf, i)) != NGX_CONF_OK) {
            return failed;
        }
    }
    return NGX_CONF_OK;
}

char* set_headers(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.headers != 0) {
        return duplicate;
    }
    const ngx_str_t* words = words_of(cf);
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        ngx_uint_t bit = 0;
        if (view(words[i]) == "github") {
            bit = headers_github;
        } else if (view(words[i]) == "ietf") {
            bit = headers_ietf;
        } else if (view(words[i]) == "off" && cf->args->nelts == 2) {
            bit = headers_off;
        }
        if (bit == 0 || (location.headers & bit) != 0) {
            ngx_conf_log_error(
                NGX_LOG_EMERG, cf, 0,
                "invalid value \"%V\" in \"rate_limit_headers\": it is \"github\", \"ietf\" or both, or "
                "\"off\" alone%s",
                &words[i], ask_for_semicolon(cf, i));
            return failed;
        }
        location.headers |= bit;
    }
    return NGX_CONF_OK;
}

char* set_zone(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& main = *static_cast<MainConf*>(conf);
    if (main.zone_size != NGX_CONF_UNSET_SIZE) {
        return duplicate;
    }
    ngx_str_t text = words_of(cf)[1];
    const off_t size = ngx_parse_offset(&text);
    if (size == NGX_ERROR || size < static_cast<off_t>(Zone::least_size)) {
        return refuse(cf,
                      "invalid size \"%V\" in \"rate_limit_zone\": it is a number of bytes, at least 128k",
                      &words_of(cf)[1]);
    }
    main.zone_size = static_cast<std::size_t>(size);
    return NGX_CONF_OK;
}

char* set_lease(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.lease != NGX_CONF_UNSET_UINT) {
        return duplicate;
    }
    const ngx_str_t& value = words_of(cf)[1];
    std::int64_t tokens = 0;
    if (view(value) == "auto") {
        location.lease = lease_auto;
    } else if (value.len != 0 && parse_cost(view(value), tokens) && tokens > 0) {
        location.lease = static_cast<ngx_uint_t>(tokens);
    } else {
        return refuse(cf,
                      "invalid value \"%V\" in \"rate_limit_lease\": it is \"auto\" or a whole number of "
                      "tokens from 1 to 1000000000",
                      &value);
    }
    return NGX_CONF_OK;
}

}  // namespace rate_limit
