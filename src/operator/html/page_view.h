#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace rate_limit {

/// How the page was asked for.
struct PageView {
    bool refreshes = true;    ///< by itself
    bool shows_keys = false;  ///< keys=plain
    std::string below;        ///< the start of links to the console's other pages, escaped for URLs

    /// The link to the page itself.
    const std::string& page() const noexcept { return below; }

    /// The view that a request for the console asks for; `location` is the prefix of its location. Empty: the
    /// page takes no such query. Throws std::bad_alloc.
    static std::optional<PageView> of(std::string_view location, std::string_view query);
};

}  // namespace rate_limit
