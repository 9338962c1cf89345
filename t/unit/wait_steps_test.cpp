// The steps of waits, against a list of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/wait_steps.h"

namespace rate_limit {
namespace {

class WaitSteps : public testing::Test {
protected:
    WaitSteps() {
        while (lengths.size() < 60) {
            lengths.push_back(2 * lengths[lengths.size() - 2]);
        }
    }

    std::vector<std::uint64_t> lengths{0, 2, 3};
};

TEST_F(WaitSteps, HaveTheirLengths) {
    for (std::size_t step = 1; step < lengths.size(); ++step) {
        EXPECT_EQ(length_of_step(step), lengths[step]) << step;
    }
}

TEST_F(WaitSteps, AreTheNearestOnes) {
    for (std::uint64_t millis = 0; millis < 20'000; ++millis) {
        const auto least = std::lower_bound(lengths.begin() + 1, lengths.end(), millis);
        ASSERT_EQ(step_of_at_least(millis), least - lengths.begin()) << millis;
        const auto after = std::upper_bound(lengths.begin() + 2, lengths.end(), millis);
        ASSERT_EQ(step_of_at_most(millis), after - lengths.begin() - 1) << millis;
    }
}

}  // namespace
}  // namespace rate_limit
