#include "core/limit/status_set.h"

#include <cstdint>

#include "core/decimal.h"

namespace rate_limit {

bool StatusSet::add(std::string_view word) noexcept {
    const bool excepts = !word.empty() && word.front() == '!';
    word.remove_prefix(excepts ? 1 : 0);
    const bool of_class = word.size() == 3 && word.substr(1) == "xx";
    std::int64_t number = 0;
    if (word.size() != 3 || !parse_digits(of_class ? word.substr(0, 1) : word, number)) {
        return false;
    }
    const auto first = static_cast<std::size_t>(of_class ? number * 100 : number);
    if (first < 100 || first >= most) {
        return false;
    }
    std::bitset<most>& set = excepts ? excepted_ : named_;
    for (std::size_t status = first; status < first + (of_class ? 100 : 1); ++status) {
        set[status] = true;
    }
    (excepts ? any_excepted_ : any_named_) = true;
    return true;
}

}  // namespace rate_limit
