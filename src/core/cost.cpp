#include "core/cost.h"

#include <charconv>
#include <system_error>

namespace rate_limit {

bool parse_cost(std::string_view text, std::int64_t& cost) noexcept {
    cost = 1;
    if (text.empty()) {
        return true;
    }
    std::int64_t number = 0;
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || text.front() == '-' || number > max_cost) {
        return false;
    }
    cost = number;
    return true;
}

}  // namespace rate_limit
