#include "core/value_text.h"

#include <algorithm>

namespace rate_limit {

/// The rules are those by which the configuration of the server that is limited reads its own texts.
ValuePart ValueText::next() noexcept {
    if (rest_.front() != '$') {
        return {ValuePart::Kind::literal, take(rest_.find('$'))};
    }
    take(1);
    if (!rest_.empty() && rest_.front() >= '1' && rest_.front() <= '9') {
        return {ValuePart::Kind::capture, take(1)};
    }
    const bool bracket = !rest_.empty() && rest_.front() == '{';
    take(bracket ? 1 : 0);
    const auto* end = std::find_if_not(rest_.begin(), rest_.end(), is_of_name);
    const std::string_view name = take(static_cast<std::size_t>(end - rest_.begin()));
    if (bracket && rest_.substr(0, 1) != "}") {
        return {name.empty() && rest_.empty() ? ValuePart::Kind::nameless : ValuePart::Kind::unclosed, name};
    }
    take(bracket ? 1 : 0);
    return {name.empty() ? ValuePart::Kind::nameless : ValuePart::Kind::variable, name};
}

}  // namespace rate_limit
