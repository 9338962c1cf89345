#include "core/overrides/override.h"

#include <algorithm>

namespace rate_limit {

std::string_view to_string(OverrideKind kind) noexcept {
    constexpr std::string_view texts[] = {"", "ban", "allow", "enforce", "off"};
    return texts[static_cast<std::size_t>(kind)];
}

OverrideKind override_kind(std::string_view name) noexcept {
    const auto* found = std::find_if(override_kinds.begin(), override_kinds.end(),
                                     [name](OverrideKind kind) { return to_string(kind) == name; });
    return found != override_kinds.end() ? *found : OverrideKind::none;
}

std::string_view to_string(OverrideScope scope) noexcept {
    return scope == OverrideScope::shared ? "shared" : "machine";
}

}  // namespace rate_limit
