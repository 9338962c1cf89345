#include "ngx/conf/early_values.h"

#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/late_watch.h"
#include "ngx/values/variable_names.h"

namespace rate_limit {

namespace {

constexpr const char* when_set =
    "which this module sets only when it has checked the limits of the access phase";

void check_key(ngx_conf_t* cf, Key& key) noexcept {
    const ngx_str_t name = str(find_variable(key.value, is_of_decision));
    if (name.len == 0 || key.own_told) {
        return;
    }
    key.own_told = true;
    ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                  "the key in %V:%ui uses \"$%V\", %s: it has no value before; write what the request says, "
                  "such as \"$rate_limit_addr\"",
                  &key.file, key.line, &name, when_set);
}

void check_value(ngx_conf_t* cf, const LimitLine& limit, const Value& value, const char* noun,
                 bool before_decision) noexcept {
    const ngx_str_t late = str(find_variable(value, is_of_response));
    if (late.len != 0) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "the %s of \"%V\" in %V:%ui uses \"$%V\", which is not known yet when limits are "
                      "checked: it has no value; use what the request says, or what \"auth_request_set\" "
                      "finds, with \"phase=precontent\"",
                      noun, &limit.directive, &limit.file, limit.line, &late);
        return;
    }
    const ngx_str_t own = str(find_variable(value, is_of_decision));
    if (own.len != 0 && before_decision) {
        ngx_log_error(NGX_LOG_WARN, cf->log, 0,
                      "the %s of \"%V\" in %V:%ui uses \"$%V\", %s: it has no value before; write a number, "
                      "or a \"map\" of what the request says",
                      noun, &limit.directive, &limit.file, limit.line, &own, when_set);
    }
}

}  // namespace

void check_values(ngx_conf_t* cf, const LocationConf& conf) noexcept {
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
        check_value(cf, limit, limit.rate_text, limit.is_slots() ? "number" : "rate", before_decision);
        if (limit.burst_text != nullptr) {
            check_value(cf, limit, *limit.burst_text, "burst", before_decision);
        }
    }
}

}  // namespace rate_limit
