#include "limiter/request/decided_by.h"

namespace rate_limit {

namespace {

constexpr std::string_view memory = "memory";

std::string_view by_answer(AppliedLimit& applied) noexcept {
    const Answer* answer = applied.answer();
    if (answer == nullptr || answer->failure() != nullptr) {
        return memory;
    }
    const auto* read = std::get_if<Read>(&applied.asked);
    return read != nullptr && !read->by_primary() ? "replica" : "primary";
}

}  // namespace

std::string_view decided_by(AppliedLimit& applied) noexcept {
    const Outcome outcome = applied.verdict.outcome;
    const bool unchecked = outcome == Outcome::error_allowed || outcome == Outcome::error_denied;
    if (outcome == Outcome::none || unchecked || applied.zone == nullptr || applied.verdict.never_fits) {
        return "none";
    }
    const bool recalled = applied.recalled == Recalled::used_up || applied.recalled == Recalled::admitted;
    if (recalled || outcome == Outcome::error_local || applied.store == nullptr) {
        return applied.by_tokens ? "tokens" : memory;
    }
    return by_answer(applied);
}

}  // namespace rate_limit
