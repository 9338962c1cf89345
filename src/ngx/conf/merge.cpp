#include <map>
#include <utility>

#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

ngx_http_complex_value_t* constant_value(ngx_conf_t* cf, const char* text) noexcept {
    auto* value =
        static_cast<ngx_http_complex_value_t*>(ngx_pcalloc(cf->pool, sizeof(ngx_http_complex_value_t)));
    if (value != nullptr) {
        value->value.data = reinterpret_cast<u_char*>(const_cast<char*>(text));
        value->value.len = std::string_view(text).size();
    }
    return value;
}

/// Logs an error that belongs to a rate_limit line, though it is found when the blocks are merged.
void log_line(ngx_conf_t* cf, ngx_uint_t level, const Limit& limit, const char* text) noexcept {
    ngx_log_error(level, cf->log, 0, "%s in %V:%ui", text, &limit.file, limit.line);
}

bool same_text(const ngx_http_complex_value_t& a, const ngx_http_complex_value_t& b) noexcept {
    return view(a.value) == view(b.value);
}

/// Whether two limits of one location would name the same window, as far as the configuration can tell.
bool same_window(const Limit& a, const Limit& b) noexcept {
    const bool same_period = a.has_constant_rate() && b.has_constant_rate()
                                 ? a.rate.period == b.rate.period
                                 : same_text(a.rate_text, b.rate_text);
    return same_period && a.window_kind == b.window_kind && view(a.name) == view(b.name) &&
           same_text(*a.store_text, *b.store_text) && same_text(a.key->value, b.key->value);
}

ngx_int_t resolve_store(ngx_conf_t* cf, Limit& limit) noexcept {
    auto* main = static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_rate_limit_module));
    auto** stores = static_cast<StoreConf**>(main->stores.elts);

    if (is_variable(*limit.store_text)) {
        for (ngx_uint_t i = 0; i < main->stores.nelts; ++i) {
            stores[i]->used = true;
        }
        return NGX_OK;
    }
    if (view(limit.store_text->value) == "local") {
        limit.local = true;
        return NGX_OK;
    }
    limit.store = find_store(*main, view(limit.store_text->value));
    if (limit.store == nullptr) {
        ngx_log_error(
            NGX_LOG_EMERG, cf->log, 0,
            "unknown store \"%V\" of \"rate_limit\" in %V:%ui: there is no block \"rate_limit_redis %V\"",
            &limit.store_text->value, &limit.file, limit.line, &limit.store_text->value);
        return NGX_ERROR;
    }
    limit.store->used = true;
    return NGX_OK;
}

/// Completes a limit: what its line does not say comes from the directives of the block where it is in
/// effect.
ngx_int_t resolve(ngx_conf_t* cf, const LocationConf& conf, Limit& line, Limit& limit) noexcept {
    limit = line;
    limit.key = limit.key != nullptr ? limit.key : conf.key;
    limit.store_text = limit.store_text != nullptr ? limit.store_text : conf.store;
    limit.cost = limit.cost != nullptr ? limit.cost : conf.cost;
    limit.mode = limit.mode != nullptr ? limit.mode : conf.mode;
    limit.lease = conf.lease;
    ngx_conf_merge_uint_value(limit.phase, conf.phase, 0);
    ngx_conf_merge_ptr_value(limit.exempt, conf.exempt, nullptr);
    if (limit.dry_run.on == NGX_CONF_UNSET) {
        limit.dry_run = conf.dry_run;
    }
    if (limit.key == nullptr) {
        log_line(cf, NGX_LOG_EMERG, limit,
                 "\"rate_limit\" has no key: add \"rate_limit_key\" or the parameter \"key=\" to the line");
        return NGX_ERROR;
    }
    if (limit.phase == static_cast<ngx_uint_t>(Phase::access) && !line.warned &&
        refers_to(*limit.key, "remote_user")) {
        line.warned = true;
        log_line(cf, NGX_LOG_WARN, limit,
                 "the key of \"rate_limit\" uses \"$remote_user\" in the access phase, where the name is not "
                 "verified yet: anyone could spend another user's quota; add \"phase=precontent\"");
    }
    return resolve_store(cf, limit);
}

ngx_int_t resolve_limits(ngx_conf_t* cf, LocationConf& conf) noexcept {
    if (conf.lines == nullptr) {
        return NGX_OK;
    }
    auto* lines = static_cast<Limit*>(conf.lines->elts);
    const ngx_uint_t count = conf.lines->nelts;
    conf.limits = ngx_array_create(cf->pool, count, sizeof(Limit));
    if (conf.limits == nullptr) {
        return NGX_ERROR;
    }
    auto* main = static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_rate_limit_module));
    auto* limits = static_cast<Limit*>(ngx_array_push_n(conf.limits, count));
    for (ngx_uint_t i = 0; i < count; ++i) {
        if (resolve(cf, conf, lines[i], limits[i]) != NGX_OK) {
            return NGX_ERROR;
        }
        auto* all = static_cast<const Limit**>(ngx_array_push(&main->limits));
        if (all == nullptr) {
            return NGX_ERROR;
        }
        *all = &limits[i];
        if (limits[i].phase == static_cast<ngx_uint_t>(Phase::precontent)) {
            ++conf.precontent_count;
        }
        for (ngx_uint_t j = 0; j < i; ++j) {
            if (same_window(limits[i], limits[j])) {
                ngx_log_error(
                    NGX_LOG_EMERG, cf->log, 0,
                    "\"rate_limit\" in %V:%ui names the same window as the one in %V:%ui: give one of them "
                    "another \"name=\"",
                    &limits[i].file, limits[i].line, &limits[j].file, limits[j].line);
                return NGX_ERROR;
            }
        }
    }
    return NGX_OK;
}

ngx_array_t* status_list(ngx_conf_t* cf, ngx_uint_t code) noexcept {
    ngx_array_t* list = ngx_array_create(cf->pool, 1, sizeof(ngx_uint_t));
    if (list != nullptr) {
        *static_cast<ngx_uint_t*>(ngx_array_push(list)) = code;
    }
    return list;
}

}  // namespace

void* create_location_conf(ngx_conf_t* cf) noexcept {
    auto* conf = static_cast<LocationConf*>(ngx_pcalloc(cf->pool, sizeof(LocationConf)));
    if (conf == nullptr) {
        return nullptr;
    }
    auto* unset = static_cast<ngx_array_t*>(NGX_CONF_UNSET_PTR);
    conf->lines = unset;
    conf->lease = NGX_CONF_UNSET_UINT;
    conf->phase = NGX_CONF_UNSET_UINT;
    conf->exempt = unset;
    conf->dry_run.on = NGX_CONF_UNSET;
    conf->bypass = unset;
    conf->status = NGX_CONF_UNSET_UINT;
    conf->log_level = NGX_CONF_UNSET_UINT;
    conf->on_error = NGX_CONF_UNSET_UINT;
    conf->error_status = NGX_CONF_UNSET_UINT;
    conf->ipv6_prefix = NGX_CONF_UNSET_UINT;
    return conf;
}

char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    auto& prev = *static_cast<LocationConf*>(parent);
    auto& conf = *static_cast<LocationConf*>(child);

    conf.key = conf.key != nullptr ? conf.key : prev.key;
    conf.store = conf.store != nullptr ? conf.store : prev.store;
    conf.cost = conf.cost != nullptr ? conf.cost : prev.cost;
    if (conf.cost == nullptr) {
        conf.cost = constant_value(cf, "1");
    }
    ngx_conf_merge_uint_value(conf.lease, prev.lease, lease_auto);
    ngx_conf_merge_uint_value(conf.phase, prev.phase, static_cast<ngx_uint_t>(Phase::access));
    if (conf.exempt == NGX_CONF_UNSET_PTR) {
        conf.exempt =
            prev.exempt == NGX_CONF_UNSET_PTR ? status_list(cf, NGX_HTTP_NOT_MODIFIED) : prev.exempt;
    }
    if (conf.store == nullptr) {
        conf.store = constant_value(cf, "local");
    }
    conf.mode = conf.mode != nullptr ? conf.mode : prev.mode;
    conf.mode = conf.mode != nullptr ? conf.mode : named_modes[0];
    if (conf.store == nullptr || conf.cost == nullptr || conf.exempt == nullptr) {
        return static_cast<char*>(NGX_CONF_ERROR);
    }
    if (conf.dry_run.on == NGX_CONF_UNSET) {
        conf.dry_run = prev.dry_run;
        ngx_conf_init_value(conf.dry_run.on, 0);
    }
    ngx_conf_merge_ptr_value(conf.bypass, prev.bypass, nullptr);
    if (conf.headers == 0) {
        conf.headers = prev.headers == 0 ? headers_github : prev.headers;
    }
    ngx_conf_merge_uint_value(conf.status, prev.status, NGX_HTTP_TOO_MANY_REQUESTS);
    ngx_conf_merge_uint_value(conf.log_level, prev.log_level, NGX_LOG_WARN);
    ngx_conf_merge_uint_value(conf.on_error, prev.on_error, static_cast<ngx_uint_t>(OnError::allow));
    ngx_conf_merge_uint_value(conf.error_status, prev.error_status, NGX_HTTP_SERVICE_UNAVAILABLE);
    ngx_conf_merge_uint_value(conf.ipv6_prefix, prev.ipv6_prefix, 64);

    ngx_conf_merge_ptr_value(conf.lines, prev.lines, nullptr);
    return resolve_limits(cf, conf) == NGX_OK ? NGX_CONF_OK : static_cast<char*>(NGX_CONF_ERROR);
}

/// Store names that contain variables are compared as text: their values are not known yet.
ngx_int_t compare_modes(ngx_conf_t* cf, const MainConf& main) noexcept {
    const auto* limits = static_cast<const Limit* const*>(main.limits.elts);
    const auto key_of = [](const Limit& limit) {
        return std::make_pair(view(limit.store_text->value), view(limit.name));
    };
    try {
        std::map<std::pair<std::string_view, std::string_view>, const Limit*> first;
        for (ngx_uint_t i = 0; i < main.limits.nelts; ++i) {
            const Limit& limit = *limits[i];
            const Limit& other = *first.emplace(key_of(limit), &limit).first->second;
            if (limit.mode != other.mode) {
                ngx_log_error(
                    NGX_LOG_EMERG, cf->log, 0,
                    "\"rate_limit\" in %V:%ui has another mode than the one in %V:%ui, but the same store "
                    "and name \"%V\": give them one mode, or one of them another \"name=\"",
                    &limit.file, limit.line, &other.file, other.line, &limit.name);
                return NGX_ERROR;
            }
        }
    } catch (...) {
        return NGX_ERROR;
    }
    return NGX_OK;
}

bool is_exempt(const ngx_array_t* exempt, ngx_uint_t code) noexcept {
    const auto* codes = static_cast<const ngx_uint_t*>(exempt->elts);
    for (ngx_uint_t i = 0; i < exempt->nelts; ++i) {
        if (codes[i] == code) {
            return true;
        }
    }
    return false;
}

}  // namespace rate_limit
