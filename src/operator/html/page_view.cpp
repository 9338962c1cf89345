#include "operator/html/page_view.h"

namespace rate_limit {

namespace {

bool is_plain_in_urls(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '~';
}

}  // namespace

std::optional<PageView> PageView::of(std::string_view location, std::string_view query) {
    if (!query.empty() && query != "refresh=on" && query != "refresh=off") {
        return std::nullopt;
    }
    PageView view;
    view.refreshes = query != "refresh=off";
    view.below = "./";
    constexpr char digits[] = "0123456789ABCDEF";
    for (const char c : location.substr(location.rfind('/') + 1)) {
        if (is_plain_in_urls(c)) {
            view.below += c;
        } else {
            const auto byte = static_cast<unsigned char>(c);
            view.below.append({'%', digits[byte >> 4U], digits[byte & 0xfU]});
        }
    }
    return view;
}

}  // namespace rate_limit
