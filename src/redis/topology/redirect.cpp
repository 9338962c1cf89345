#include "redis/topology/redirect.h"

#include "core/decimal.h"
#include "redis/keys/slot.h"
#include "redis/topology/announced.h"

namespace rate_limit {
namespace {

bool skip(std::string_view& text, std::string_view start) noexcept {
    if (text.substr(0, start.size()) != start) {
        return false;
    }
    text.remove_prefix(start.size());
    return true;
}

}  // namespace

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
