#include "redis/info_value.h"

namespace rate_limit {

std::string_view info_value(std::string_view info, std::string_view name) noexcept {
    while (!info.empty()) {
        const std::size_t end = info.find('\n');
        std::string_view line = info.substr(0, end);
        info.remove_prefix(end == std::string_view::npos ? info.size() : end + 1);
        if (line.substr(0, name.size()) == name && line.substr(name.size(), 1) == ":") {
            line.remove_prefix(name.size() + 1);
            return line.substr(0, line.find('\r'));
        }
    }
    return {};
}

}  // namespace rate_limit
