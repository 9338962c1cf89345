#include "limiter/store_conf.h"
#include "limiter/zone.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/limit_log.h"
#include "ngx/conf/parameter.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

/// Whether the text is an address or a network, which belongs into a geo block.
bool is_network(ngx_str_t text) noexcept {
    ngx_cidr_t cidr;
    return ngx_ptocidr(&text, &cidr) != NGX_ERROR;
}

char* refuse_constant(ngx_conf_t* cf, ngx_uint_t at) noexcept {
    const ngx_str_t& word = words_of(cf)[at];
    if (is_network(word)) {
        return refuse(
            cf,
            "the network \"%V\" in \"rate_limit_bypass\" would bypass every limit for all clients: write "
            "\"geo $free { default 0; %V 1; }\" in \"http\", and \"rate_limit_bypass $free\" here",
            &word, &word);
    }
    if (cf->args->nelts > 2) {
        return refuse(cf,
                      "the constant \"%V\" stands beside other values in \"rate_limit_bypass\": keep only "
                      "variables, or \"off\" alone%s",
                      &word, ask_for_semicolon(cf, at));
    }
    return refuse(
        cf,
        "the constant \"%V\" in \"rate_limit_bypass\" would bypass every limit for all clients: write a "
        "variable, such as one of \"geo\" or \"map\", or \"rate_limit off\" where nothing is to be limited",
        &word);
}

}  // namespace

const Configuration* configuration_at_work() noexcept {
    return main_conf(ngx_cycle);
}

char* check_store_names(ngx_conf_t* cf, void* conf) noexcept {
    const auto& main = *static_cast<const MainConf*>(conf);
    for (const StoreName& name : Elements<const StoreName>(main.store_names)) {
        if (view(name.text) != "local" && find_store(main, view(name.text)) == nullptr) {
            ngx_log_error(
                NGX_LOG_EMERG, cf->log, 0,
                "unknown store \"%V\" of \"%V\" in %V:%ui: there is no block \"rate_limit_redis %V\"",
                &name.text, &name.directive, &name.file, name.line, &name.text);
            return failed;
        }
    }
    return NGX_CONF_OK;
}

void* create_main_conf(ngx_conf_t* cf) noexcept {
    auto* main = make<MainConf>(*cf->pool);
    if (main == nullptr || ngx_array_init(&main->store_names, cf->pool, 4, sizeof(StoreName)) != NGX_OK ||
        ngx_array_init(&main->answering, cf->pool, 4, sizeof(Answering)) != NGX_OK) {
        return nullptr;
    }
    main->zone_size = NGX_CONF_UNSET_SIZE;
    main->log = make<LimitLog>(*cf->pool);
    return main->log != nullptr ? main : nullptr;
}

char* set_exempt_status(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    StatusSet*& exempt = static_cast<LocationConf*>(conf)->options.exempt;
    if (exempt != nullptr) {
        return duplicate;
    }
    const ngx_str_t* words = words_of(cf);
    if (cf->args->nelts == 2) {
        return parse_exempt(cf, words[1], exempt);
    }
    exempt = make<StatusSet>(*cf->pool);
    if (exempt == nullptr) {
        return failed;
    }
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        if (parse_exempt_status(cf, view(words[i]), *exempt, ask_for_semicolon(cf, i)) != NGX_CONF_OK) {
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
        } else if (view(words[i]) == "retry_after") {
            bit = headers_retry_after;
        } else if (view(words[i]) == "off" && cf->args->nelts == 2) {
            bit = headers_off;
        }
        if (bit == 0 || (location.headers & bit) != 0) {
            return refuse(cf,
                          "invalid value \"%V\" in \"rate_limit_headers\": it is \"github\", \"ietf\" and "
                          "\"retry_after\", one or more of them, or \"off\" alone%s",
                          &words[i], ask_for_semicolon(cf, i));
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
        return refuse_value(cf, "size", words_of(cf)[1], "it is a number of bytes, at least 128k");
    }
    main.zone_size = static_cast<std::size_t>(size);
    return NGX_CONF_OK;
}

/// `off`, `0` or `""` alone makes an empty list, so that nothing is inherited from outer blocks.
char* set_bypass(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    auto& location = *static_cast<LocationConf*>(conf);
    if (location.bypass != NGX_CONF_UNSET_PTR) {
        return duplicate;
    }
    const ngx_str_t* words = words_of(cf);
    location.bypass = ngx_array_create(cf->pool, cf->args->nelts, sizeof(Value));
    if (location.bypass == nullptr) {
        return failed;
    }
    if (cf->args->nelts == 2 && !is_on(view(words[1]))) {
        return NGX_CONF_OK;
    }
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        auto* value = push<Value>(*location.bypass);
        if (value == nullptr || compile(cf, words[i], *value) != NGX_OK) {
            return failed;
        }
        if (value->is_constant()) {
            return refuse_constant(cf, i);
        }
    }
    return NGX_CONF_OK;
}

}  // namespace rate_limit
