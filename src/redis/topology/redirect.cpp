#include "redis/topology/redirect.h"

#include <algorithm>

#include "core/decimal.h"
#include "redis/keys/routes.h"

namespace rate_limit {

namespace {

constexpr std::int64_t max_port = 65535;
constexpr std::string_view hex_digits = "0123456789abcdefABCDEF";

/// Whether this has only characters of a name, of an address, or of the zone of an address.
bool is_word(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
               c == '-' || c == '_';
    });
}

/// Whether this can be an IPv6 address, as in `::1`, `::ffff:192.0.2.1` and `fe80::1%eth0`.
bool is_ipv6(std::string_view text) noexcept {
    const std::size_t zone = text.find('%');
    const std::string_view address = text.substr(0, zone);
    return std::count(address.begin(), address.end(), ':') >= 2 &&
           std::all_of(
               address.begin(), address.end(),
               [](char c) { return c == ':' || c == '.' || hex_digits.find(c) != std::string_view::npos; }) &&
           (zone == std::string_view::npos || is_word(text.substr(zone + 1)));
}

/// Whether this is the address that a server says that has not been told its own: no place to connect to.
bool is_any_address(std::string_view text) noexcept {
    return text == "0.0.0.0" || text == "::";
}

bool is_host(std::string_view text) noexcept {
    return !text.empty() && text.size() <= max_host && (is_word(text) || is_ipv6(text));
}

bool skip(std::string_view& text, std::string_view start) noexcept {
    if (text.substr(0, start.size()) != start) {
        return false;
    }
    text.remove_prefix(start.size());
    return true;
}

}  // namespace

Announced read_announced(std::string_view host, std::int64_t port, const Endpoint& asked, Endpoint& to) {
    if (port < 0 || port > max_port) {
        return Announced::wrong;
    }
    const std::string_view name = host.empty() ? std::string_view(asked.host) : host;
    if (name.empty() || host == "?" || is_any_address(host) || port == 0) {
        return Announced::unknown;
    }
    if (!is_host(name)) {
        return Announced::wrong;
    }
    to = {std::string(name), static_cast<std::uint16_t>(port)};
    return Announced::known;
}

bool read_redirect(std::string_view error, const Endpoint& asked, Redirect& redirect) {
    if (skip(error, "MOVED ")) {
        redirect.kind = Redirect::Kind::moved;
    } else if (skip(error, "ASK ")) {
        redirect.kind = Redirect::Kind::ask;
    } else {
        return false;
    }
    const std::size_t space = error.find(' ');
    const std::size_t colon = error.rfind(':');
    if (space == std::string_view::npos || colon == std::string_view::npos || colon < space) {
        return false;
    }
    std::int64_t slot = 0;
    std::int64_t port = 0;
    if (!parse_digits(error.substr(0, space), slot) || slot >= slot_count ||
        !parse_digits(error.substr(colon + 1), port)) {
        return false;
    }
    redirect.slot = static_cast<std::uint16_t>(slot);
    const std::string_view host = error.substr(space + 1, colon - space - 1);
    return read_announced(host, port, asked, redirect.to) == Announced::known;
}

}  // namespace rate_limit
