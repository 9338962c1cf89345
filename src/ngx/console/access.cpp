#include "ngx/console/access.h"

#include <algorithm>
#include <string_view>

#include "ngx/base/local_address.h"
#include "ngx/console/answer.h"

namespace rate_limit {

namespace {

bool ends_with(std::string_view text, std::string_view end) noexcept {
    return text.size() >= end.size() && equal_in_any_case(text.substr(text.size() - end.size()), end);
}

/// A proxy speaks the PROXY protocol, and the client that it tells is not on this machine, or it tells none.
bool is_relayed(const ngx_http_request_t& r) noexcept {
    const ngx_proxy_protocol_t* told = r.connection->proxy_protocol;
    return told != nullptr ? !is_local(told->src_addr)
                           : r.main->http_connection->addr_conf->proxy_protocol != 0;
}

/// Some proxy has sent it: the client is not the one that the connection is from.
bool is_forwarded(const ngx_http_request_t& r) noexcept {
    constexpr std::string_view names[] = {"forwarded", "x-forwarded-for", "x-real-ip", "via"};
    return std::any_of(std::begin(names), std::end(names),
                       [&r](std::string_view name) { return find_field(r, name).count != 0; });
}

/// realip has taken the client's address from what a proxy says, also where that is the same one. Its
/// variable shows the connection's own then, and otherwise the very text that nginx has; without realip there
/// is none.
bool is_restored(ngx_http_request_t& r) noexcept {
    constexpr std::string_view name = "realip_remote_addr";
    ngx_str_t text = str(name);
    const ngx_http_variable_value_t* own =
        ngx_http_get_variable(&r, &text, ngx_hash_key(text.data, text.len));
    return own == nullptr || (own->not_found == 0 && own->data != r.connection->addr_text.data);
}

bool is_address(std::string_view host) noexcept {
    const ngx_str_t text = str(host);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        u_char address[16];
        return ngx_inet6_addr(text.data + 1, text.len - 2, address) == NGX_OK;
    }
    return ngx_inet_addr(text.data, text.len) != INADDR_NONE;
}

bool is_named(const ngx_http_server_name_t& name, std::string_view host) noexcept {
#if (NGX_PCRE)
    if (name.regex != nullptr) {
        ngx_str_t text = str(host);
        return ngx_regex_exec(name.regex->regex, &text, nullptr, 0) >= 0;
    }
#endif
    const std::string_view pattern = view(name.name);
    if (pattern.empty()) {
        return false;
    }
    if (pattern.front() == '.') {
        return equal_in_any_case(host, pattern.substr(1)) || ends_with(host, pattern);
    }
    if (pattern.substr(0, 2) == "*.") {
        return ends_with(host, pattern.substr(1));
    }
    if (ends_with(pattern, ".*")) {
        const std::string_view begin = pattern.substr(0, pattern.size() - 1);
        return equal_in_any_case(host.substr(0, begin.size()), begin);
    }
    return equal_in_any_case(host, pattern);
}

/// A name that another one has pointed to this address opens nothing.
bool is_own_host(const ngx_http_request_t& r, const ConsoleConf& conf) noexcept {
    const std::string_view host = view(r.headers_in.server);
    if (is_address(host) || equal_in_any_case(host, "localhost")) {
        return true;
    }
    const Elements<const ngx_http_server_name_t> names(*conf.names);
    return !host.empty() &&
           std::any_of(names.begin(), names.end(), [host](const auto& name) { return is_named(name, host); });
}

/// Host and port; the default port of the scheme is left out.
std::string_view without_default_port(std::string_view authority, bool https) noexcept {
    const std::string_view port = https ? ":443" : ":80";
    const bool has_it =
        authority.size() > port.size() && authority.substr(authority.size() - port.size()) == port;
    return has_it ? authority.substr(0, authority.size() - port.size()) : authority;
}

/// Whether the Origin has the host and port of the request's Host. A proxy may have ended TLS: the scheme of
/// this connection says nothing of what the browser used, and the default port is that of the Origin's.
bool is_of_host(std::string_view origin, std::string_view host) noexcept {
    const std::size_t end = origin.find("://");
    if (end == std::string_view::npos || host.empty()) {
        return false;  // "null" too
    }
    const bool https = equal_in_any_case(origin.substr(0, end), "https");
    const bool http = equal_in_any_case(origin.substr(0, end), "http");
    return (https || http) && equal_in_any_case(without_default_port(origin.substr(end + 3), https),
                                                without_default_port(host, https));
}

}  // namespace

const char* why_forbidden(ngx_http_request_t& r, const ConsoleConf& conf) noexcept {
    if (&r != r.main) {
        return "The console answers no subrequest (of auth_request, SSI, mirror and the like), whose client "
               "nginx does not check: let clients request its address, or redirect them to it.";
    }
    if (!conf.from_any && (is_restored(r) || is_forwarded(r) || is_relayed(r))) {
        return "A proxy has sent this request, and the console answers clients on this machine alone: add "
               "\"from=any\" to \"rate_limit_console\", and \"allow\", \"deny\" or \"auth_basic\" to its "
               "location.";
    }
    if (!conf.from_any && !is_local(*r.connection->sockaddr)) {
        return "The console answers clients on this machine alone: add \"from=any\" to "
               "\"rate_limit_console\", and \"allow\", \"deny\" or \"auth_basic\" to its location.";
    }
    if (!conf.from_any && r.http_version < NGX_HTTP_VERSION_11) {
        return "The request is in HTTP/1.0, as proxies send it, and the console answers clients on this "
               "machine alone: use HTTP/1.1, or add \"from=any\" to \"rate_limit_console\", and \"allow\", "
               "\"deny\" or \"auth_basic\" to its location.";
    }
    if (!is_own_host(r, conf)) {
        return "The Host is neither an IP address, nor \"localhost\", nor a name of this server: add the "
               "name to \"server_name\".";
    }
    return nullptr;
}

bool is_cross_origin(const ngx_http_request_t& r) noexcept {
    const RequestField site = find_field(r, "sec-fetch-site");
    if (site.count != 0) {
        return site.count != 1 || !equal_in_any_case(site.value, "same-origin");
    }
    const RequestField origin = find_field(r, "origin");
    if (origin.count == 0) {
        return false;
    }
    const RequestField host = find_field(r, "host");
    return origin.count != 1 || !is_of_host(origin.value, host.value);
}

}  // namespace rate_limit
