#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ngx/conf/conf.h"
#include "ngx/figures/document.h"

namespace rate_limit {

/// How the page was asked for.
struct PageView {
    bool refreshes = true;  ///< by itself
    std::string below;      ///< what links to the console's other pages begin with, escaped for URLs

    /// Of a request for the console whose location's prefix is `location`. Empty: the page takes no such
    /// query. Throws std::bad_alloc.
    static std::optional<PageView> of(std::string_view location, std::string_view query);
};

/// The page for people, of the console of a location, whose configuration outlives it. Throws std::bad_alloc.
std::unique_ptr<Document> tell_page(const MainConf& main, const ConsoleConf& console, PageView view);

}  // namespace rate_limit
