#include "core/limit/cost.h"

#include "core/digits.h"

namespace rate_limit {

bool parse_cost(std::string_view text, std::int64_t& cost) noexcept {
    cost = 1;
    if (text.empty()) {
        return true;
    }
    while (text.size() > safe_digits && text.front() == '0') {
        text.remove_prefix(1);
    }
    std::int64_t number = 0;
    if (!parse_digits(text, number) || number > max_cost) {
        return false;
    }
    cost = number;
    return true;
}

}  // namespace rate_limit
