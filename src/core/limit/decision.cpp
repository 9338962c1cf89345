#include "core/limit/decision.h"

#include <algorithm>

namespace rate_limit {
namespace {

std::int64_t remaining_after(const Verdict& verdict) noexcept {
    const std::int64_t room = verdict.rate.limit - verdict.window.used;
    return room > verdict.due ? room - verdict.due : 0;
}

bool is_error(Outcome outcome) noexcept {
    return outcome == Outcome::error_allowed || outcome == Outcome::error_local ||
           outcome == Outcome::error_denied;
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
    constexpr std::string_view texts[] = {
        "",         "PASSED",  "ERROR_ALLOWED", "ERROR_LOCAL", "REJECTED_DRY_RUN", "ERROR_DENIED",
        "REJECTED", "BYPASSED"};
    return texts[static_cast<std::size_t>(outcome)];
}

std::int64_t spread_of(std::string_view key, std::int64_t most) noexcept {
    std::uint64_t hash = 14'695'981'039'346'656'037U;
    for (const char byte : key) {
        hash = (hash ^ static_cast<unsigned char>(byte)) * 1'099'511'628'211U;
    }
    return static_cast<std::int64_t>(hash % (static_cast<std::uint64_t>(most) + 1));
}

Outcome combine(const Verdict* verdicts, std::size_t count) noexcept {
    Outcome outcome = Outcome::none;
    for (std::size_t i = 0; i < count; ++i) {
        outcome = std::max(outcome, verdicts[i].outcome);
    }
    return outcome;
}

namespace {

/// shown(), of the verdicts for which `wanted` returns true.
template <typename Wanted>
VerdictIndex shown_of(const Verdict* verdicts, std::size_t count, Wanted wanted) noexcept {
    VerdictIndex in_dry_run;
    VerdictIndex tightest;
    std::int64_t least = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const Verdict& verdict = verdicts[i];
        if (!wanted(verdict)) {
            continue;
        }
        if (verdict.outcome == Outcome::rejected) {
            return i;
        }
        if (verdict.outcome == Outcome::rejected_dry_run && !in_dry_run) {
            in_dry_run = i;
        }
        const std::int64_t remaining = remaining_after(verdict);
        const bool first = !tightest || (verdicts[*tightest].slots && !verdict.slots);
        const bool comparable = first || verdicts[*tightest].slots == verdict.slots;
        if (verdict.known && comparable && (first || remaining < least)) {
            tightest = i;
            least = remaining;
        }
    }
    return in_dry_run ? in_dry_run : tightest;
}

VerdictIndex index_of(const Verdict* found, const Verdict* verdicts, std::size_t count) noexcept {
    return found != verdicts + count ? VerdictIndex(static_cast<std::size_t>(found - verdicts))
                                     : std::nullopt;
}

char folded(char c) noexcept {
    const bool upper = c >= 'A' && c <= 'Z';
    return c == '-' || c == '.' ? '_' : upper ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

VerdictIndex shown(const Verdict* verdicts, std::size_t count) noexcept {
    return shown_of(verdicts, count, [](const Verdict& verdict) { return !verdict.hidden; });
}

VerdictIndex rejecting(const Verdict* verdicts, std::size_t count) noexcept {
    const VerdictIndex limit = shown(verdicts, count);
    if (limit && verdicts[*limit].outcome == Outcome::rejected) {
        return limit;
    }
    const auto* first = std::find_if(verdicts, verdicts + count, [](const Verdict& verdict) {
        return verdict.outcome == Outcome::rejected;
    });
    return index_of(first, verdicts, count);
}

VerdictIndex described(const Verdict* verdicts, std::size_t count) noexcept {
    if (!is_error(combine(verdicts, count))) {
        const bool all_hidden =
            std::all_of(verdicts, verdicts + count, [](const Verdict& verdict) { return verdict.hidden; });
        const VerdictIndex rejected = all_hidden ? rejecting(verdicts, count) : std::nullopt;
        return !all_hidden ? shown(verdicts, count)
               : rejected  ? rejected
                           : index_of(verdicts, verdicts, count);
    }
    return index_of(std::find_if(verdicts, verdicts + count,
                                 [](const Verdict& verdict) { return is_error(verdict.outcome); }),
                    verdicts, count);
}

bool is_named_in_variable(std::string_view limit, std::string_view variable) noexcept {
    return std::equal(limit.begin(), limit.end(), variable.begin(), variable.end(),
                      [](char a, char b) { return folded(a) == folded(b); });
}

VerdictIndex named(const Verdict* verdicts, std::size_t count, std::string_view variable) noexcept {
    const auto is_named = [variable](const Verdict& verdict) {
        return is_named_in_variable(verdict.name, variable);
    };
    const VerdictIndex best = shown_of(verdicts, count, is_named);
    const auto* const first = best ? verdicts + *best : std::find_if(verdicts, verdicts + count, is_named);
    return index_of(first, verdicts, count);
}

}  // namespace rate_limit
