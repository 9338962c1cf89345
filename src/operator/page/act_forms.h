#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "core/limit/window.h"
#include "core/text/html_text.h"
#include "operator/acts/act_result.h"
#include "operator/html/frame.h"

namespace rate_limit {

/// Which kinds of windows a look-up shows of one limit: a limit with a variable burst has buckets and
/// windows.
enum class ShownKinds : unsigned char { windows, buckets, both };

inline ShownKinds kinds_of(const SeenLimit& limit) noexcept {
    const auto is_bucket = [](const SeenWindow& window) { return window.kind == WindowKind::bucket; };
    const auto buckets = std::count_if(limit.windows.begin(), limit.windows.end(), is_bucket);
    if (buckets == 0) {
        return ShownKinds::windows;
    }
    return static_cast<std::size_t>(buckets) == limit.windows.size() ? ShownKinds::buckets : ShownKinds::both;
}

/// Words of the page for windows alone, for buckets alone, and for both.
struct WordsOfKinds {
    std::string_view windows;
    std::string_view buckets;
    std::string_view both;

    constexpr std::string_view of(ShownKinds kinds) const noexcept {
        return kinds == ShownKinds::windows ? windows : kinds == ShownKinds::buckets ? buckets : both;
    }
};

/// Writes a hidden field of a form. Throws std::bad_alloc.
void write_hidden(HtmlText& html, std::string_view name, std::string_view value);

/// A form for each act that there is on one limit, of those on windows where there are any; `key`, as it is
/// typed, is empty where none was looked up. Throws std::bad_alloc.
void write_act_forms(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key);

}  // namespace rate_limit
