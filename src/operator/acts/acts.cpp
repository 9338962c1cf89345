#include "operator/acts/acts.h"

#include <algorithm>
#include <iterator>

namespace rate_limit {

namespace {

constexpr Act acts[] = {
    {"", {"key"}, look_up},
    {"reset", {"key", "limit"}, reset_window},
    {"add", {"key", "limit", "cost"}, give_back_part},
    {"ban", {"key", "limit"}, ban},
    {"allow", {"key", "limit"}, allow},
    {"enforce", {"limit", "percent"}, enforce},
    {"off", {"limit"}, switch_off},
    {"clear", {"limit"}, clear_override},
};

}  // namespace

const Act* find_act(std::string_view name) noexcept {
    const Act* found =
        std::find_if(std::begin(acts), std::end(acts), [name](const Act& act) { return act.name == name; });
    return found != std::end(acts) ? found : nullptr;
}

}  // namespace rate_limit
