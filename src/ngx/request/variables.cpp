#include <algorithm>
#include <array>
#include <cstring>

#include "core/address.h"
#include "core/append.h"
#include "ngx/conf/conf.h"
#include "ngx/request/client_id.h"
#include "ngx/request/handlers.h"
#include "ngx/request/shown.h"

namespace rate_limit {

namespace {

ngx_int_t set_text(ngx_http_variable_value_t* value, std::string_view text) noexcept {
    value->valid = 1;
    value->no_cacheable = 0;
    value->not_found = 0;
    value->len = static_cast<unsigned>(text.size());
    value->data = reinterpret_cast<u_char*>(const_cast<char*>(text.data()));
    return NGX_OK;
}

ngx_int_t set_missing(ngx_http_variable_value_t* value) noexcept {
    value->not_found = 1;
    return NGX_OK;
}

ngx_int_t set_integer(ngx_http_request_t* r, ngx_http_variable_value_t* value, std::int64_t number) noexcept {
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, max_number));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    return set_text(value, {text, static_cast<std::size_t>(append(text, number) - text)});
}

enum Member : uintptr_t { member_limit, member_used, member_remaining, member_reset };

/// The numbers of the limit that the variables describe, also where headers are off.
ngx_int_t quota_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t member) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    Quota quota;
    if (context == nullptr || !described_quota(*context, context->status(), now_millis(), quota)) {
        return set_missing(value);
    }
    switch (member) {
        case member_limit:
            return set_integer(r, value, quota.limit);
        case member_used:
            return set_integer(r, value, quota.used);
        case member_remaining:
            return set_integer(r, value, quota.remaining);
        default:
            return set_integer(r, value, quota.reset);
    }
}

ngx_int_t status_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                          uintptr_t /*data*/) noexcept {
    const RequestContext* context = RequestContext::find(r->main);
    return context != nullptr && context->outcome != Outcome::none
               ? set_text(value, to_string(context->outcome))
               : set_missing(value);
}

ngx_int_t resource_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            uintptr_t /*data*/) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    const VerdictIndex i = context != nullptr ? described_limit(*context, context->status()) : VerdictIndex{};
    return i ? set_text(value, context->verdicts()[*i].name) : set_missing(value);
}

ngx_int_t shard_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                         uintptr_t /*data*/) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    const VerdictIndex i = context != nullptr ? described_limit(*context, context->status()) : VerdictIndex{};
    const Shard* shard = i ? context->applied(*i).shard : nullptr;
    return shard != nullptr ? set_text(value, shard->name()) : set_missing(value);
}

/// Before anything is decided it is the id of the first limit's client.
ngx_int_t id_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t /*data*/) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    if (context == nullptr || context->count() == 0) {
        return set_missing(value);
    }
    constexpr std::size_t digits = 16;
    auto* text = static_cast<u_char*>(ngx_pnalloc(r->pool, digits));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const std::size_t i = described_limit(*context, context->status()).value_or(0);
    ngx_sprintf(text, "%016xL", client_id(r->main, context->applied(i)));
    return set_text(value, {reinterpret_cast<char*>(text), digits});
}

ngx_int_t store_time_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                              uintptr_t /*data*/) noexcept {
    const RequestContext* context = RequestContext::find(r->main);
    if (context == nullptr || context->outcome == Outcome::none || context->outcome == Outcome::bypassed) {
        return set_missing(value);
    }
    auto* text = static_cast<u_char*>(ngx_pnalloc(r->pool, NGX_TIME_T_LEN + 4));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const ngx_msec_t time = context->store_time();
    const u_char* end = ngx_sprintf(text, "%T.%03M", static_cast<time_t>(time / 1000), time % 1000);
    return set_text(value, {reinterpret_cast<char*>(text), static_cast<std::size_t>(end - text)});
}

enum Form : uintptr_t { form_text, form_binary };

template <std::size_t size>
ngx_int_t set_bytes(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                    const std::array<unsigned char, size>& bytes) noexcept {
    auto* copy = static_cast<char*>(ngx_pnalloc(r->pool, size));
    if (copy == nullptr) {
        return NGX_ERROR;
    }
    std::memcpy(copy, bytes.data(), size);
    return set_text(value, {copy, size});
}

ngx_int_t ipv6_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t form) noexcept {
    Ipv6 address;
    std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6*>(r->connection->sockaddr)->sin6_addr,
                sizeof address);
    Ipv4 mapped;
    std::copy(address.end() - mapped.size(), address.end(), mapped.begin());
    const bool is_mapped =
        IN6_IS_ADDR_V4MAPPED(&reinterpret_cast<const sockaddr_in6*>(r->connection->sockaddr)->sin6_addr);
    const auto prefix = static_cast<unsigned>(location_conf(r)->ipv6_prefix);
    const Ipv6 network = cut(address, prefix);
    if (form == form_binary) {
        // An IPv6 address keeps its 16 bytes, with zeros behind the prefix: cut short, some would equal IPv4
        // addresses.
        return is_mapped ? set_bytes(r, value, mapped) : set_bytes(r, value, network);
    }
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, max_network));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const char* end = is_mapped ? append_address(text, mapped) : append_network(text, network, prefix);
    return set_text(value, {text, static_cast<std::size_t>(end - text)});
}

ngx_int_t address_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t form) noexcept {
    const ngx_connection_t& client = *r->connection;
    switch (client.sockaddr->sa_family) {
        case AF_INET:
            if (form == form_text) {
                return set_text(value,
                                view(client.addr_text));  // nginx wrote this text, or the realip module did
            }
            return set_text(value, {reinterpret_cast<const char*>(
                                        &reinterpret_cast<const sockaddr_in*>(client.sockaddr)->sin_addr),
                                    sizeof(in_addr)});
        case AF_INET6:
            return ipv6_variable(r, value, form);
        default:
            return set_text(value, {});
    }
}

ngx_http_variable_t variables[] = {
    {ngx_string("rate_limit_addr"), nullptr, address_variable, form_text, 0, 0},
    {ngx_string("rate_limit_binary_addr"), nullptr, address_variable, form_binary, 0, 0},
    {ngx_string("rate_limit_status"), nullptr, status_variable, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_limit"), nullptr, quota_variable, member_limit, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_used"), nullptr, quota_variable, member_used, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_remaining"), nullptr, quota_variable, member_remaining, NGX_HTTP_VAR_NOCACHEABLE,
     0},
    {ngx_string("rate_limit_reset"), nullptr, quota_variable, member_reset, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_resource"), nullptr, resource_variable, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_shard"), nullptr, shard_variable, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_id"), nullptr, id_variable, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
    {ngx_string("rate_limit_store_time"), nullptr, store_time_variable, 0, NGX_HTTP_VAR_NOCACHEABLE, 0},
};

}  // namespace

ngx_int_t add_variables(ngx_conf_t* cf) noexcept {
    for (const ngx_http_variable_t& known : variables) {
        ngx_str_t name = known.name;
        ngx_http_variable_t* variable = ngx_http_add_variable(cf, &name, known.flags);
        if (variable == nullptr) {
            return NGX_ERROR;
        }
        variable->get_handler = known.get_handler;
        variable->data = known.data;
    }
    return NGX_OK;
}

}  // namespace rate_limit
