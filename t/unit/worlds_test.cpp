// Random worlds: a seed is one world, and what does not hold in it is told so that it can be seen again.

#include <cstdint>
#include <sstream>
#include <string>

#include "t/worlds/plan.h"
#include "t/worlds/runs.h"
#include "t/worlds/violation.h"

namespace rate_limit::world::worlds_test {
namespace {

/// The first seed from 1 on in which so many faults come, servers' and machines'.
std::uint64_t seed_with_faults(std::size_t faults) {
    for (std::uint64_t seed = 1;; ++seed) {
        if (Plan(seed).fault_count() == faults) {
            return seed;
        }
    }
}

std::string log_of(std::uint64_t seed) {
    std::ostringstream log;
    const Outcomes seen = run_world(Plan(seed), &log);
    EXPECT_TRUE(seen.failures.empty()) << seed;
    return log.str();
}

TEST(WorldsOfOneSeed, HaveTheSameEventsByteForByte) {
    for (const std::size_t faults : {0U, 4U, 20U}) {
        const std::uint64_t seed = seed_with_faults(faults);
        const std::string log = log_of(seed);
        EXPECT_GT(log.size(), 10'000U) << seed;
        EXPECT_TRUE(log == log_of(seed)) << "seed " << seed << " differs from itself";
        EXPECT_FALSE(log == log_of(seed + 1));
    }
}

TEST(WorldsThatHold, EndWithStatus0AndOneLine) {
    std::ostringstream out;
    std::ostringstream err;
    Runs runs(out, err);
    runs.run(seed_with_faults(4));
    EXPECT_EQ(runs.end(), 0);
    EXPECT_EQ(out.str().find("1 worlds, "), 0U) << out.str();
    EXPECT_NE(out.str().find(" requests, 0 worlds in which something did not hold\n"), std::string::npos);
}

/// A few, for what all of them do; by night there are more.
TEST(WorldsOfSeveralSites, Hold) {
    std::ostringstream out;
    std::ostringstream err;
    Runs runs(out, err, Places::several);
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
        runs.run(seed);
    }
    EXPECT_EQ(runs.end(), 0) << out.str();
}

TEST(AViolationWhereSitesAreApart, SaysSoInWhatToType) {
    std::ostringstream out;
    std::ostringstream err;
    Runs runs(out, err, Places::several);
    runs.add(Plan(7, Places::several).with_faults({}), {{"something is wrong"}, 7, 123, second});
    EXPECT_EQ(runs.end(), 1);
    EXPECT_NE(out.str().find("\nsee it again: make world FAR=1 SEED=7; with these faults alone: "
                             "make world FAR=1 SEED=7 FAULTS=none\n"),
              std::string::npos)
        << out.str();
}

/// It is told with the faults that are needed for it; here none can be left out, as nothing fails without.
TEST(AViolation, EndsWithStatus1AndWhatToType) {
    for (const std::size_t faults : {0U, 2U}) {
        const std::uint64_t seed = seed_with_faults(faults);
        std::ostringstream out;
        std::ostringstream err;
        Runs runs(out, err);
        runs.add(Plan(seed), {{"something is wrong"}, 7, 123, second});
        EXPECT_EQ(runs.end(), 1);
        const std::string told = out.str();
        const std::string text = std::to_string(seed);
        EXPECT_EQ(told.find("seed " + text + ": something is wrong\nafter 123 events; "), 0U) << told;
        for (std::size_t i = 0; i < faults; ++i) {
            EXPECT_NE(told.find("\n  fault " + std::to_string(i) + ": "), std::string::npos) << told;
        }
        EXPECT_NE(told.find("\nsee it again: make world SEED=" + text +
                            "; with these faults alone: make world SEED=" + text +
                            " FAULTS=" + (faults == 0 ? "none" : "0,1") + "\n1 worlds, "),
                  std::string::npos)
            << told;
    }
}

}  // namespace
}  // namespace rate_limit::world::worlds_test
