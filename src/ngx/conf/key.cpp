#include "ngx/conf/key.h"

#include <algorithm>
#include <utility>

#include "core/value_text.h"
#include "limiter/request/late_watch.h"
#include "ngx/conf/body_field.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/value.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

/// Whether this nginx has a variable of that name, by itself or through a prefix such as `http_`.
bool is_known_variable(ngx_conf_t* cf, std::string_view name) noexcept {
    if (!std::all_of(name.begin(), name.end(), is_of_name)) {
        return false;
    }
    const auto& core = *static_cast<const ngx_http_core_main_conf_t*>(
        ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    const Elements<const ngx_http_variable_t> prefixes(core.prefix_variables);
    const Elements<const ngx_hash_key_t> known(core.variables_keys->keys);
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [name](const auto& prefix) { return begins_with(name, view(prefix.name)); }) ||
           std::any_of(known.begin(), known.end(),
                       [name](const auto& key) { return equal_in_any_case(name, view(key.key)); });
}

/// `shares_window`: a window for all clients may not be meant, other than slots for all.
void check_constant(ngx_conf_t* cf, const Key& key, bool shares_window) noexcept {
    const ngx_str_t& text = key.value.text;
    if (text.len == 0) {
        warn_merged(cf,
                    "the key in %V:%ui is empty: no limit with it ever applies; write \"rate_limit off\" "
                    "where nothing is to be limited",
                    &key.file, key.line);
    } else if (is_known_variable(cf, view(text))) {
        warn_merged(cf,
                    "the key \"%V\" in %V:%ui is the name of a variable without its \"$\": all clients share "
                    "one window; write \"%s$%V\"",
                    &text, &key.file, key.line, key.parameter ? "key=" : "rate_limit_key ", &text);
    } else if (shares_window) {
        ngx_log_error(NGX_LOG_NOTICE, cf->log, 0,
                      "the key \"%V\" in %V:%ui is a constant: all clients share one window", &text,
                      &key.file, key.line);
    }
}

/// A variable in it that has no value before there is a response; empty: there is none.
std::string_view find_late(ngx_conf_t* cf, const Value& value) noexcept {
    return find_variable(
        value, [cf](std::string_view name) { return is_of_response(name) || is_response_field(cf, name); });
}

void check_variables(ngx_conf_t* cf, const Key& key) noexcept {
    const std::string_view late = find_late(cf, key.value);
    if (late.empty()) {
        return;
    }
    const ngx_str_t name = str(late);
    warn_merged(
        cf,
        "the key in %V:%ui uses \"$%V\", which is not known yet when limits are checked: it tells no clients "
        "apart; use what the request says, or what \"auth_request_set\" finds, with \"phase=precontent\"",
        &key.file, key.line, &name);
}

/// Whether this nginx has the directive that lets it read bodies before limits are checked.
bool reads_bodies_early(const ngx_conf_t* cf) noexcept {
    for (ngx_module_t* const* module = cf->cycle->modules; *module != nullptr; ++module) {
        const ngx_command_t* command = (*module)->commands;
        for (; command != nullptr && command->name.len != 0; ++command) {
            if (view(command->name) == "client_body_early_read") {
                return true;
            }
        }
    }
    return false;
}

void check_body(ngx_conf_t* cf, const Key& key) noexcept {
    const std::string_view found = find_variable(key.value, is_of_body);
    if (found.empty()) {
        return;
    }
    const ngx_str_t name = str(found);
    const ngx_uint_t level = reads_bodies_early(cf) ? ngx_uint_t{NGX_LOG_NOTICE} : NGX_LOG_WARN;
    ngx_log_error(level, cf->log, 0,
                  "the key in %V:%ui uses \"$%V\", which is empty where nothing has read the body before "
                  "limits are checked: nothing is limited then; take a header or an argument as the key, or, "
                  "from nginx 1.31.5 on, turn \"client_body_early_read\" on",
                  &key.file, key.line, &name);
}

constexpr const char* when_set =
    "which this module sets only when it has checked the limits of the access phase";

void check_key(ngx_conf_t* cf, Key& key) noexcept {
    const ngx_str_t name = str(find_variable(key.value, is_of_decision));
    if (name.len == 0 || key.own_told) {
        return;
    }
    key.own_told = true;
    warn_merged(cf,
                "the key in %V:%ui uses \"$%V\", %s: it has no value before; write what the request says, "
                "such as \"$rate_limit_addr\"",
                &key.file, key.line, &name, when_set);
}

void check_value(ngx_conf_t* cf, const LimitLine& limit, const Value& value, const char* noun,
                 bool before_decision) noexcept {
    const ngx_str_t late = str(find_late(cf, value));
    if (late.len != 0) {
        warn_merged(cf,
                    "the %s of \"%V\" in %V:%ui uses \"$%V\", which is not known yet when limits are "
                    "checked: it has no value; use what the request says, or what \"auth_request_set\" "
                    "finds, with \"phase=precontent\"",
                    noun, &limit.directive, &limit.file, limit.line, &late);
        return;
    }
    const ngx_str_t own = str(find_variable(value, is_of_decision));
    if (own.len != 0 && before_decision) {
        warn_merged(cf,
                    "the %s of \"%V\" in %V:%ui uses \"$%V\", %s: it has no value before; write a number, or "
                    "a \"map\" of what the request says",
                    noun, &limit.directive, &limit.file, limit.line, &own, when_set);
    }
}

/// A report reads no request.
void check_fields(ngx_conf_t* cf, const LocationConf& conf) noexcept {
    for (const LimitLine& limit : Elements<const LimitLine>(*conf.limits)) {
        const std::pair<const char*, const Value*> values[] = {
            {"key", &limit.key->value},  {limit.kind->amount, &limit.rate_text},
            {"burst", limit.burst_text}, {"store", limit.store_text},
            {"reserve", limit.reserve},  {"cost", limit.cost}};
        for (const auto& [noun, value] : values) {
            if (value != nullptr) {
                check_request_fields(cf, conf, limit, noun, *value);
            }
        }
    }
}

}  // namespace

char* parse_key(ngx_conf_t* cf, ngx_str_t text, Key*& key) noexcept {
    key = static_cast<Key*>(ngx_pcalloc(cf->pool, sizeof(Key)));
    if (key == nullptr || compile(cf, text, key->value) != NGX_OK) {
        return failed;
    }
    key->file = cf->conf_file->file.name;
    key->line = cf->conf_file->line;
    key->parameter = view(words_of(cf)[0]) != "rate_limit_key";
    return NGX_CONF_OK;
}

bool refers_to(const Key& key, std::string_view variable) noexcept {
    const auto wanted = [variable](std::string_view name) { return equal_in_any_case(name, variable); };
    return !find_variable(key.value, wanted).empty();
}

void check_keys(ngx_conf_t* cf, const MainConf& main) noexcept {
    for (const bool is_spent : {true, false}) {
        for (const Limit* each : main.limits) {
            const LimitLine* limit = &line_of(*each);
            Key& key = *limit->key;
            if (key.checked || limit->kind->is_spent != is_spent) {
                continue;
            }
            key.checked = true;
            if (!key.value.is_constant()) {
                check_variables(cf, key);
                check_body(cf, key);
            } else {
                check_constant(cf, key, is_spent);
            }
        }
    }
}

void check_values(ngx_conf_t* cf, const LocationConf& conf) noexcept {
    if (!conf.report) {
        check_fields(cf, conf);
    }
    // Limits of the precontent phase may use what those of the access phase have come to.
    const bool none_before = conf.precontent_count == conf.limits->nelts;
    for (const LimitLine& limit : Elements<const LimitLine>(*conf.limits)) {
        const bool before_decision =
            !conf.report && (none_before || limit.phase == static_cast<ngx_uint_t>(Phase::access));
        if (before_decision) {
            check_key(cf, *limit.key);
        }
        if (limit.watch->checked) {
            continue;
        }
        limit.watch->checked = true;
        check_value(cf, limit, limit.rate_text, limit.kind->amount, before_decision);
        if (limit.burst_text != nullptr) {
            check_value(cf, limit, *limit.burst_text, "burst", before_decision);
        }
        if (limit.reserve != nullptr) {
            check_value(cf, limit, *limit.reserve, "reserve", before_decision);
        }
    }
}

}  // namespace rate_limit
