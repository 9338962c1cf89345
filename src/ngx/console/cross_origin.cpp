#include "ngx/console/cross_origin.h"

#include <algorithm>
#include <string_view>

#include "ngx/console/answer.h"

namespace rate_limit {

namespace {

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
