#include "core/decision.h"

#include <algorithm>

namespace rate_limit {
namespace {

std::int64_t remaining_after(const Verdict& verdict, std::int64_t cost) noexcept {
    const std::int64_t room = verdict.rate.limit - verdict.window.used;
    return room > cost ? room - cost : 0;
}

const Verdict* first_with(Outcome outcome, const Verdict* verdicts, std::size_t count) noexcept {
    const Verdict* end = verdicts + count;
    const Verdict* found =
        std::find_if(verdicts, end, [outcome](const Verdict& verdict) { return verdict.outcome == outcome; });
    return found == end ? nullptr : found;
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::none:
            return "";
        case Outcome::passed:
            return "PASSED";
        case Outcome::error_allowed:
            return "ERROR_ALLOWED";
        case Outcome::error_local:
            return "ERROR_LOCAL";
        case Outcome::rejected_dry_run:
            return "REJECTED_DRY_RUN";
        case Outcome::error_denied:
            return "ERROR_DENIED";
        case Outcome::rejected:
            return "REJECTED";
        case Outcome::bypassed:
            return "BYPASSED";
    }
    return "";
}

Outcome decide(const Rate& rate, const Window& window, bool dry_run) noexcept {
    if (window.used < rate.limit) {
        return Outcome::passed;
    }
    return dry_run ? Outcome::rejected_dry_run : Outcome::rejected;
}

Outcome combine(const Verdict* verdicts, std::size_t count) noexcept {
    Outcome outcome = Outcome::none;
    for (std::size_t i = 0; i < count; ++i) {
        outcome = std::max(outcome, verdicts[i].outcome);
    }
    return outcome;
}

const Verdict* shown(const Verdict* verdicts, const std::int64_t* costs, std::size_t count) noexcept {
    if (count == 1) {
        const bool rejected =
            verdicts->outcome == Outcome::rejected || verdicts->outcome == Outcome::rejected_dry_run;
        return rejected || verdicts->known ? verdicts : nullptr;
    }
    for (Outcome outcome : {Outcome::rejected, Outcome::rejected_dry_run}) {
        if (const Verdict* verdict = first_with(outcome, verdicts, count)) {
            return verdict;
        }
    }

    const Verdict* tightest = nullptr;
    std::int64_t least = 0;
    for (std::size_t i = 0; i < count; ++i) {
        if (!verdicts[i].known) {
            continue;
        }
        const std::int64_t remaining = remaining_after(verdicts[i], costs[i]);
        if (tightest == nullptr || remaining < least) {
            tightest = &verdicts[i];
            least = remaining;
        }
    }
    return tightest;
}

}  // namespace rate_limit
