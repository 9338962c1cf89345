#include "limiter/zone.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/later.h"
#include "ngx/conf/parameter.h"
#include "ngx/conf/value.h"

namespace rate_limit {

char* set_exempt_status(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    ngx_array_t*& exempt = static_cast<LocationConf*>(conf)->options.exempt;
    if (exempt != NGX_CONF_UNSET_PTR) {
        return duplicate;
    }
    const ngx_str_t* words = words_of(cf);
    if (cf->args->nelts == 2) {
        return parse_exempt(cf, words[1], exempt);
    }
    exempt = ngx_array_create(cf->pool, cf->args->nelts, sizeof(ngx_uint_t));
    if (exempt == nullptr) {
        return failed;
    }
    for (ngx_uint_t i = 1; i < cf->args->nelts; ++i) {
        if (parse_exempt_status(cf, view(words[i]), exempt, ask_for_semicolon(cf, i)) != NGX_CONF_OK) {
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
        if (is_later(Later::headers, view(words[i]))) {
            return refuse_later(cf, words[i]);
        }
        if (bit == 0 || (location.headers & bit) != 0) {
            return refuse(
                cf,
                "invalid value \"%V\" in \"rate_limit_headers\": it is \"github\", \"ietf\" or both, or "
                "\"off\" alone%s",
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
        return refuse(cf,
                      "invalid size \"%V\" in \"rate_limit_zone\": it is a number of bytes, at least 128k",
                      &words_of(cf)[1]);
    }
    main.zone_size = static_cast<std::size_t>(size);
    return NGX_CONF_OK;
}

}  // namespace rate_limit
