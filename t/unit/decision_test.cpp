#include "core/limit/decision.h"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::decision_test {
namespace {

Verdict verdict(std::int64_t limit, std::int64_t used, Outcome outcome = Outcome::passed, bool known = true) {
    return {"core", {limit, 60}, {used, 1000}, known, outcome};
}

Outcome combine(const std::vector<Outcome>& outcomes) {
    std::vector<Verdict> verdicts;
    for (Outcome outcome : outcomes) {
        verdicts.push_back(verdict(1, 0, outcome));
    }
    return rate_limit::combine(verdicts.data(), verdicts.size());
}

/// Index of a limit; -1: none.
std::ptrdiff_t number_of(VerdictIndex index) {
    return index ? static_cast<std::ptrdiff_t>(*index) : -1;
}

std::ptrdiff_t shown(std::vector<Verdict> verdicts, const std::vector<std::int64_t>& due) {
    for (std::size_t i = 0; i < due.size(); ++i) {
        verdicts[i].due = due[i];
    }
    return number_of(rate_limit::shown(verdicts.data(), verdicts.size()));
}

std::ptrdiff_t described(const std::vector<Verdict>& verdicts) {
    return number_of(rate_limit::described(verdicts.data(), verdicts.size()));
}

TEST(Outcome, HasTheTextOfTheVariable) {
    EXPECT_EQ(to_string(Outcome::none), "");
    EXPECT_EQ(to_string(Outcome::passed), "PASSED");
    EXPECT_EQ(to_string(Outcome::error_allowed), "ERROR_ALLOWED");
    EXPECT_EQ(to_string(Outcome::error_local), "ERROR_LOCAL");
    EXPECT_EQ(to_string(Outcome::rejected_dry_run), "REJECTED_DRY_RUN");
    EXPECT_EQ(to_string(Outcome::error_denied), "ERROR_DENIED");
    EXPECT_EQ(to_string(Outcome::rejected), "REJECTED");
    EXPECT_EQ(to_string(Outcome::bypassed), "BYPASSED");
}

TEST(Combine, FollowsThePrecedence) {
    EXPECT_EQ(combine({}), Outcome::none);
    EXPECT_EQ(combine({Outcome::passed, Outcome::passed}), Outcome::passed);
    EXPECT_EQ(combine({Outcome::error_allowed, Outcome::passed}), Outcome::error_allowed);
    EXPECT_EQ(combine({Outcome::error_local, Outcome::error_allowed}), Outcome::error_local);
    EXPECT_EQ(combine({Outcome::error_local, Outcome::error_denied}), Outcome::error_denied);
    EXPECT_EQ(combine({Outcome::rejected, Outcome::error_denied}), Outcome::rejected);
    EXPECT_EQ(combine({Outcome::passed, Outcome::rejected_dry_run}), Outcome::rejected_dry_run);
    EXPECT_EQ(combine({Outcome::rejected_dry_run, Outcome::rejected}), Outcome::rejected);
}

TEST(Shown, IsTheFirstThatRejected) {
    EXPECT_EQ(
        shown({verdict(9, 9), verdict(5, 7, Outcome::rejected), verdict(5, 9, Outcome::rejected)}, {1, 0, 0}),
        1);
    EXPECT_EQ(shown({verdict(5, 7, Outcome::rejected_dry_run), verdict(5, 9, Outcome::rejected)}, {0, 0}), 1);
    EXPECT_EQ(shown({verdict(1, 0), verdict(5, 7, Outcome::rejected_dry_run)}, {1, 0}), 1);
}

TEST(Shown, IsElseTheLeastRemainingAfterTheCosts) {
    EXPECT_EQ(shown({verdict(10, 2), verdict(10, 5), verdict(10, 3)}, {1, 1, 1}), 1);
    EXPECT_EQ(shown({verdict(10, 4), verdict(10, 5)}, {2, 0}), 0);
    EXPECT_EQ(shown({verdict(10, 5), verdict(10, 5)}, {1, 1}), 0);
    // Both at 0: how far beyond does not count.
    EXPECT_EQ(shown({verdict(10, 10), verdict(10, 50)}, {1, 1}), 0);
}

TEST(Shown, PassesOverUnknownWindows) {
    EXPECT_EQ(shown({verdict(1, 1, Outcome::error_allowed, false), verdict(10, 2)}, {0, 1}), 1);
    EXPECT_EQ(shown({verdict(1, 1, Outcome::error_allowed, false)}, {0}), -1);
    EXPECT_EQ(shown({}, {}), -1);
}

TEST(Shown, SurvivesAnAbsurdCount) {
    const std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(shown({verdict(0, 0), verdict(0, huge)}, {1'000'000'000, 1'000'000'000}), 0);
}

TEST(Described, IsTheFirstThatFailedAfterAnError) {
    const Verdict passed = verdict(9, 1);
    const Verdict allowed = verdict(9, 0, Outcome::error_allowed, false);
    const Verdict local = verdict(9, 8, Outcome::error_local);
    const Verdict denied = verdict(9, 0, Outcome::error_denied, false);
    EXPECT_EQ(described({passed, allowed, local}), 1);
    EXPECT_EQ(described({passed, local, denied}), 1);
    EXPECT_EQ(described({denied}), 0);
}

TEST(Described, IsElseTheOneThatIsShown) {
    const Verdict allowed = verdict(9, 0, Outcome::error_allowed, false);
    EXPECT_EQ(described({verdict(9, 1), verdict(9, 2)}), 1);
    EXPECT_EQ(described({allowed, verdict(9, 9, Outcome::rejected)}), 1);
    EXPECT_EQ(described({allowed, verdict(9, 9, Outcome::rejected_dry_run)}), 1);
    EXPECT_EQ(described({verdict(9, 1, Outcome::none, false)}), -1);
    EXPECT_EQ(described({}), -1);
}

TEST(Shown, PrefersWindowsToSlots) {
    Verdict slots = verdict(2, 1);
    slots.slots = true;
    Verdict tighter = slots;
    tighter.window.used = 2;
    EXPECT_EQ(shown({slots, verdict(100, 1)}, {1, 1}), 1) << "though one slot is left";
    EXPECT_EQ(shown({verdict(100, 1), slots}, {1, 1}), 0);
    EXPECT_EQ(shown({slots, tighter}, {0, 0}), 1) << "else the tightest of them";
    slots.outcome = Outcome::rejected;
    EXPECT_EQ(shown({verdict(100, 1), slots}, {1, 0}), 1) << "but not where they reject";
}

TEST(InAVariable, NamesOfLimitsAreFolded) {
    EXPECT_TRUE(is_named_in_variable("core", "core"));
    EXPECT_TRUE(is_named_in_variable("A-b.C_9", "a_b_c_9"));
    EXPECT_FALSE(is_named_in_variable("core", "cor"));
    EXPECT_FALSE(is_named_in_variable("core", "core2"));
    EXPECT_FALSE(is_named_in_variable("a1", "a_"));
}

TEST(Named, IsTheOneOfTheNameThatWouldBeShown) {
    std::vector<Verdict> verdicts{verdict(10, 1), verdict(10, 5), verdict(10, 9)};
    verdicts[0].name = verdicts[1].name = "A-b";
    const auto named = [&verdicts](const char* name) {
        return number_of(rate_limit::named(verdicts.data(), verdicts.size(), name));
    };
    EXPECT_EQ(named("a_b"), 1);
    EXPECT_EQ(named("core"), 2);
    EXPECT_EQ(named("none"), -1);
    verdicts[0].known = verdicts[1].known = false;
    EXPECT_EQ(named("a_b"), 0) << "the first, where no window is known";
    verdicts[1].outcome = Outcome::rejected;
    EXPECT_EQ(named("a_b"), 1);
}

TEST(Rejecting, IsTheOneThatIsShown) {
    std::vector<Verdict> verdicts{verdict(10, 1), verdict(10, 9), verdict(10, 5)};
    const auto rejecting = [&verdicts] {
        return number_of(rate_limit::rejecting(verdicts.data(), verdicts.size()));
    };
    EXPECT_EQ(rejecting(), -1);
    verdicts[2].outcome = Outcome::rejected;
    EXPECT_EQ(rejecting(), 2);
    verdicts[1].outcome = Outcome::rejected;
    EXPECT_EQ(rejecting(), 1);
}

TEST(Hidden, AreShownNowhereButByTheirRejection) {
    std::vector<Verdict> verdicts{verdict(10, 9), verdict(10, 5), verdict(10, 7)};
    verdicts[0].hidden = true;
    const auto rejecting = [&verdicts] {
        return number_of(rate_limit::rejecting(verdicts.data(), verdicts.size()));
    };
    EXPECT_EQ(shown(verdicts, {}), 2);
    EXPECT_EQ(described(verdicts), 2);
    verdicts[0].outcome = Outcome::rejected;
    EXPECT_EQ(shown(verdicts, {}), 2) << "as it stands";
    EXPECT_EQ(described(verdicts), 2);
    EXPECT_EQ(rejecting(), 0);
    verdicts[1].outcome = Outcome::rejected;
    EXPECT_EQ(shown(verdicts, {}), 1);
    EXPECT_EQ(rejecting(), 1) << "the one that is shown";
    EXPECT_EQ(number_of(named(verdicts.data(), 1, "core")), 0) << "by its name";
}

TEST(Hidden, AreDescribedWhereAllAre) {
    std::vector<Verdict> verdicts{verdict(10, 1), verdict(10, 9)};
    verdicts[0].hidden = verdicts[1].hidden = true;
    EXPECT_EQ(shown(verdicts, {}), -1);
    EXPECT_EQ(described(verdicts), 0);
    verdicts[1].outcome = Outcome::rejected;
    EXPECT_EQ(shown(verdicts, {}), -1);
    EXPECT_EQ(described(verdicts), 1);
    verdicts[1].outcome = Outcome::error_allowed;
    EXPECT_EQ(described(verdicts), 1) << "the one that failed";
    EXPECT_EQ(described({}), -1);
}

}  // namespace
}  // namespace rate_limit::decision_test
