#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rate_limit {

/// How the page was asked for.
struct PageView {
    bool refreshes = true;    ///< by itself
    bool shows_keys = false;  ///< keys=plain
    std::string below;        ///< what links to the console's other pages begin with, escaped for URLs

    /// The link to the page itself.
    const std::string& page() const noexcept { return below; }

    /// Of a request for the console whose location's prefix is `location`. Empty: the page takes no such
    /// query. Throws std::bad_alloc.
    static std::optional<PageView> of(std::string_view location, std::string_view query);
};

}  // namespace rate_limit
