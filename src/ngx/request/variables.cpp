#include <algorithm>
#include <cstring>
#include <optional>

#include "core/address.h"
#include "core/decimal.h"
#include "limiter/request/decisions.h"
#include "ngx/conf/conf.h"
#include "ngx/request/context.h"
#include "ngx/request/handlers.h"
#include "ngx/request/limiter.h"

namespace rate_limit {

namespace {

ngx_int_t set_text(ngx_http_variable_value_t* value, std::string_view text) noexcept {
    value->valid = 1;
    value->no_cacheable = 0;
    value->not_found = 0;
    value->len = static_cast<unsigned>(text.size());
    value->data = str(text).data;
    return NGX_OK;
}

ngx_int_t set_missing(ngx_http_variable_value_t* value) noexcept {
    value->not_found = 1;
    return NGX_OK;
}

/// Sets the text that `write`, called with room for `most` bytes, writes; it returns the end.
template <typename Write>
ngx_int_t set_written(ngx_http_request_t* r, ngx_http_variable_value_t* value, std::size_t most,
                      Write write) noexcept {
    auto* text = static_cast<char*>(ngx_pnalloc(r->pool, most));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const char* end = write(text);
    return set_text(value, {text, static_cast<std::size_t>(end - text)});
}

template <typename... Arguments>
char* write(char* out, const char* format, Arguments... arguments) noexcept {
    return reinterpret_cast<char*>(ngx_sprintf(reinterpret_cast<u_char*>(out), format, arguments...));
}

/// A variable of a request that has limits: `set` gives it its value.
template <ngx_int_t (*set)(RequestContext& context, ngx_http_variable_value_t* value)>
ngx_int_t of_request(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t /*data*/) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    return context != nullptr ? set(*context, value) : set_missing(value);
}

/// One of the limit that the variables describe.
template <ngx_int_t (*set)(RequestContext& context, AppliedLimit& applied, ngx_http_variable_value_t* value)>
ngx_int_t of_limit(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    const VerdictIndex i = described_limit(context, context.status());
    return i ? set(context, context.applied(*i), value) : set_missing(value);
}

/// nginx tells the variable's name where that has a prefix.
std::string_view name_in(uintptr_t data) noexcept {
    const ngx_str_t* name = nullptr;
    std::memcpy(&name, &data, sizeof name);
    return view(*name);
}

/// One of the limit of the name that follows in its own name after `start` bytes.
template <std::size_t start,
          ngx_int_t (*set)(RequestContext& context, AppliedLimit& applied, ngx_http_variable_value_t* value)>
ngx_int_t of_named_limit(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t data) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    const std::string_view name = name_in(data).substr(start);
    const VerdictIndex i = context != nullptr ? named_limit(*context, context->status(), name) : std::nullopt;
    return i ? set(*context, context->applied(*i), value) : set_missing(value);
}

/// The numbers are there, too, where headers are off.
template <std::int64_t Quota::*number>
ngx_int_t set_quota(RequestContext& context, AppliedLimit& applied,
                    ngx_http_variable_value_t* value) noexcept {
    const Quota quota = quota_of(applied.verdict, now_millis());
    const bool of_reset = number == &Quota::reset || number == &Quota::until;
    if (!applied.verdict.known || (of_reset && !quota.has_reset)) {
        return set_missing(value);
    }
    return set_written(context.request(), value, max_number,
                       [&](char* out) { return append(out, quota.*number); });
}

ngx_int_t set_outcome(ngx_http_variable_value_t* value, Outcome outcome) noexcept {
    return outcome != Outcome::none ? set_text(value, to_string(outcome)) : set_missing(value);
}

ngx_int_t set_status(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    return set_outcome(value, context.outcome);
}

ngx_int_t set_status_of_limit(RequestContext& /*context*/, AppliedLimit& applied,
                              ngx_http_variable_value_t* value) noexcept {
    return set_outcome(value, applied.verdict.outcome);
}

ngx_int_t set_retry_of_limit(RequestContext& context, AppliedLimit& applied,
                             ngx_http_variable_value_t* value) noexcept {
    return quota_of(applied.verdict, now_millis()).retry ? set_quota<&Quota::wait>(context, applied, value)
                                                         : set_missing(value);
}

/// The value says what the header says, or would say.
ngx_int_t set_retry(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    if (context.outcome == Outcome::error_denied) {
        return set_text(value, denied_retry);
    }
    find_due(context, context.status());
    const VerdictIndex i = retried_limit(context);
    return i ? set_retry_of_limit(context, context.applied(*i), value) : set_missing(value);
}

ngx_int_t set_resource(RequestContext& /*context*/, AppliedLimit& applied,
                       ngx_http_variable_value_t* value) noexcept {
    return set_text(value, applied.verdict.name);
}

ngx_int_t set_shard(RequestContext& context, AppliedLimit& applied,
                    ngx_http_variable_value_t* value) noexcept {
    if (applied.store == nullptr) {
        return set_missing(value);
    }
    // A module that keeps the value may show it after the node of that name is gone.
    const std::string_view name = applied.shard().name();
    return set_written(context.request(), value, name.size() + 1,
                       [name](char* out) { return append(out, name); });
}

/// Before anything is decided it is the id of the first limit's client.
ngx_int_t set_id(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    if (context.count() == 0) {
        return set_missing(value);
    }
    const std::size_t i = described_limit(context, context.status()).value_or(0);
    return set_written(context.request(), value, 2 * sizeof(std::uint64_t), [&](char* out) {
        return write(out, "%016xL", client_id(context.request(), context.applied(i)));
    });
}

/// Seconds that are left of the penalty that rejects, or began with, the request.
ngx_int_t set_penalty(RequestContext& context, AppliedLimit& applied,
                      ngx_http_variable_value_t* value) noexcept {
    const Millis until = applied.penalty != nullptr ? applied.penalty->until : 0;
    const std::int64_t left = seconds_until(until, now_millis());
    return left != 0 ? set_written(context.request(), value, max_number,
                                   [left](char* out) { return append(out, left); })
                     : set_missing(value);
}

ngx_int_t set_source(RequestContext& /*context*/, AppliedLimit& applied,
                     ngx_http_variable_value_t* value) noexcept {
    return applied.verdict.outcome != Outcome::none ? set_text(value, decided_by(applied))
                                                    : set_missing(value);
}

/// The cost that the limit was charged is known when the request has ended.
ngx_int_t set_cost(RequestContext& context, AppliedLimit& applied,
                   ngx_http_variable_value_t* value) noexcept {
    return context.counted ? set_written(context.request(), value, max_number,
                                         [&](char* out) { return append(out, applied.charged); })
                           : set_missing(value);
}

ngx_int_t set_all(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    if (context.count() == 0 || context.outcome == Outcome::none) {
        return set_missing(value);
    }
    find_due(context, context.status());
    std::size_t most = 0;
    for (std::size_t i = 0; i < context.count(); ++i) {
        most += context.verdicts()[i].name.size() + max_verdict + 1;
    }
    return set_written(context.request(), value, most, [&context](char* out) {
        for (std::size_t i = 0; i < context.count(); ++i) {
            out = append_verdict(i == 0 ? out : append(out, ","), context.verdicts()[i], now_millis());
        }
        return out;
    });
}

/// Milliseconds, as seconds.
ngx_int_t set_time(RequestContext& context, ngx_http_variable_value_t* value, ngx_msec_t time) noexcept {
    if (context.outcome == Outcome::none || context.outcome == Outcome::bypassed) {
        return set_missing(value);
    }
    return set_written(context.request(), value, NGX_TIME_T_LEN + 4, [time](char* out) {
        return write(out, "%T.%03M", static_cast<time_t>(time / 1000), time % 1000);
    });
}

ngx_int_t set_store_time(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    return set_time(context, value, context.store_time());
}

ngx_int_t set_delayed(RequestContext& context, ngx_http_variable_value_t* value) noexcept {
    return set_time(context, value, static_cast<ngx_msec_t>(context.delay));
}

/// The override of the limit that the variables describe; where it has none, of the first that was lifted.
ngx_int_t override_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value,
                            uintptr_t /*data*/) noexcept {
    RequestContext* context = RequestContext::find(r->main);
    OverrideKind kind = OverrideKind::none;
    if (context != nullptr && context->count() != 0) {
        kind = context->applied(described_limit(*context, context->status()).value_or(0)).override_kind;
        kind = kind == OverrideKind::none ? context->lifted() : kind;
    }
    const RequestContext* lifted =
        kind == OverrideKind::none ? RequestContext::find_lifted(r->main) : nullptr;
    kind = lifted != nullptr ? lifted->lifted() : kind;
    return kind != OverrideKind::none ? set_text(value, to_string(kind)) : set_missing(value);
}

enum Form : uintptr_t { form_text, form_binary };

/// An IPv6 address keeps its 16 bytes, with zeros behind the prefix: cut short, some would equal IPv4
/// addresses.
template <typename Address>
ngx_int_t set_network(ngx_http_request_t* r, ngx_http_variable_value_t* value, const Address& address,
                      unsigned prefix, uintptr_t form) noexcept {
    const Address network = cut(address, prefix);
    return set_written(r, value, max_network, [&](char* out) {
        return form == form_text ? append_network(out, network, prefix)
                                 : std::copy(network.begin(), network.end(), out);
    });
}

ngx_int_t ipv4_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, const Ipv4& address,
                        uintptr_t form) noexcept {
    return set_network(r, value, address, static_cast<unsigned>(location_conf(r)->ipv4_prefix), form);
}

ngx_int_t ipv6_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t form) noexcept {
    Ipv6 address;
    std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in6*>(r->connection->sockaddr)->sin6_addr,
                sizeof address);
    const std::optional<Ipv4> ipv4 = ipv4_in(address);
    return ipv4 ? ipv4_variable(r, value, *ipv4, form)
                : set_network(r, value, address, static_cast<unsigned>(location_conf(r)->ipv6_prefix), form);
}

ngx_int_t address_variable(ngx_http_request_t* r, ngx_http_variable_value_t* value, uintptr_t form) noexcept {
    const ngx_connection_t& client = *r->connection;
    switch (client.sockaddr->sa_family) {
        case AF_INET: {
            if (form == form_text && location_conf(r)->ipv4_prefix == ipv4_bits) {
                return set_text(value, view(client.addr_text));  // by nginx, or its realip module
            }
            Ipv4 address;
            std::memcpy(address.data(), &reinterpret_cast<const sockaddr_in*>(client.sockaddr)->sin_addr,
                        sizeof address);
            return ipv4_variable(r, value, address, form);
        }
        case AF_INET6:
            return ipv6_variable(r, value, form);
        default:
            return set_text(value, {});
    }
}

/// A variable whose value may be another one each time.
ngx_http_variable_t changing(std::string_view name, ngx_http_get_variable_pt get) noexcept {
    return {str(name), nullptr, get, 0, NGX_HTTP_VAR_NOCACHEABLE, 0};
}

constexpr std::size_t length(const char* text) noexcept {
    return std::string_view(text).size();
}

/// Variables whose names a limit's name ends: these are the starts, which of_a_limit lists, too.
template <std::size_t start, ngx_int_t (*set)(RequestContext&, AppliedLimit&, ngx_http_variable_value_t*)>
ngx_http_variable_t by_name(const char* name) noexcept {
    return {str(name), nullptr, of_named_limit<start, set>, 0, NGX_HTTP_VAR_NOCACHEABLE | NGX_HTTP_VAR_PREFIX,
            0};
}

#define RATE_LIMIT_BY_NAME(name, set) by_name<length(name), set>(name)

const ngx_http_variable_t variables[] = {
    RATE_LIMIT_BY_NAME("rate_limit_limit_", set_quota<&Quota::limit>),
    RATE_LIMIT_BY_NAME("rate_limit_used_", set_quota<&Quota::used>),
    RATE_LIMIT_BY_NAME("rate_limit_remaining_", set_quota<&Quota::remaining>),
    RATE_LIMIT_BY_NAME("rate_limit_reset_", set_quota<&Quota::reset>),
    RATE_LIMIT_BY_NAME("rate_limit_reset_after_", set_quota<&Quota::until>),
    RATE_LIMIT_BY_NAME("rate_limit_retry_after_", set_retry_of_limit),
    RATE_LIMIT_BY_NAME("rate_limit_status_", set_status_of_limit),
    {ngx_string("rate_limit_addr"), nullptr, address_variable, form_text, 0, 0},
    {ngx_string("rate_limit_binary_addr"), nullptr, address_variable, form_binary, 0, 0},
    changing("rate_limit_status", of_request<set_status>),
    changing("rate_limit_limit", of_request<of_limit<set_quota<&Quota::limit>>>),
    changing("rate_limit_used", of_request<of_limit<set_quota<&Quota::used>>>),
    changing("rate_limit_remaining", of_request<of_limit<set_quota<&Quota::remaining>>>),
    changing("rate_limit_reset", of_request<of_limit<set_quota<&Quota::reset>>>),
    changing("rate_limit_reset_after", of_request<of_limit<set_quota<&Quota::until>>>),
    changing("rate_limit_retry_after", of_request<set_retry>),
    changing("rate_limit_resource", of_request<of_limit<set_resource>>),
    changing("rate_limit_shard", of_request<of_limit<set_shard>>),
    changing("rate_limit_id", of_request<set_id>),
    changing("rate_limit_all", of_request<set_all>),
    changing("rate_limit_cost", of_request<of_limit<set_cost>>),
    changing("rate_limit_penalty", of_request<of_limit<set_penalty>>),
    changing("rate_limit_source", of_request<of_limit<set_source>>),
    changing("rate_limit_override", override_variable),
    changing("rate_limit_store_time", of_request<set_store_time>),
    changing("rate_limit_delayed", of_request<set_delayed>),
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
