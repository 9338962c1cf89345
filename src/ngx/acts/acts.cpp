#include "ngx/acts/acts.h"

#include <algorithm>
#include <iterator>

namespace rate_limit {

namespace {

constexpr Act acts[] = {
    {"", {"key"}, look_up},
    {"reset", {"key", "limit"}, reset_window},
    {"add", {"key", "limit", "cost"}, give_back_part},
};

}  // namespace

const Act* find_act(std::string_view name) noexcept {
    const Act* found =
        std::find_if(std::begin(acts), std::end(acts), [name](const Act& act) { return act.name == name; });
    return found != std::end(acts) ? found : nullptr;
}

}  // namespace rate_limit
