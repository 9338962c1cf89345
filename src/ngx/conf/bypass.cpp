#include "ngx/conf/conf.h"
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
        auto* value = static_cast<Value*>(ngx_array_push(location.bypass));
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
