#include "core/machine/windows/used_up_windows.h"

#include <string>

#include <gtest/gtest.h>

#include "core/limit/clocks.h"
#include "core/table/keyed_hash.h"
#include "threads.h"

namespace rate_limit::used_up_windows_test {
namespace {

constexpr Millis now = 1'700'000'000'000;

WindowId id(int number) {
    const Hash128 hash = keyed_hash({1, 2}, std::to_string(number));
    return {hash.high, hash.low};
}

class UsedUp : public testing::Test {
protected:
    int count(int first, int last) const {
        int found = 0;
        for (int i = first; i < last; ++i) {
            found += windows_.may_contain(id(i)) ? 1 : 0;
        }
        return found;
    }

    UsedUpWindows windows_;
};

TEST_F(UsedUp, NamesWindowsThatWereNotedAndFewOthers) {
    EXPECT_EQ(count(0, 10'000), 0);
    for (int i = 0; i < 100; ++i) {
        windows_.note(id(i), now + i);
    }
    EXPECT_EQ(count(0, 100), 100);
    // 100 of 4096 bits are set: it should name 2.4% of the others, give or take five standard deviations.
    EXPECT_GT(count(100, 10'100), 160);
    EXPECT_LT(count(100, 10'100), 320);
}

TEST_F(UsedUp, AllAreForgottenWithTheFirstAndNotBefore) {
    windows_.note(id(1), now);
    windows_.note(id(2), now + UsedUpWindows::kept - 1);
    EXPECT_EQ(count(1, 3), 2);
    windows_.note(id(3), now + UsedUpWindows::kept);
    EXPECT_EQ(count(1, 3), 0);
    EXPECT_TRUE(windows_.may_contain(id(3)));
}

TEST_F(UsedUp, AClockThatGoesBackForgets) {
    windows_.note(id(1), now);
    windows_.note(id(2), now - clocks_apart);
    EXPECT_EQ(count(1, 3), 2) << "another worker's clock is behind";
    windows_.note(id(3), now - clocks_apart - 1);
    EXPECT_EQ(count(1, 3), 0);
    EXPECT_TRUE(windows_.may_contain(id(3)));
}

TEST_F(UsedUp, NothingIsLostWhereManyNote) {
    windows_.note(id(0), now);
    in_threads(4, [this](std::size_t thread) {
        for (auto i = static_cast<int>(thread); i < 1000; i += 4) {
            windows_.note(id(i), now);
        }
    });
    EXPECT_EQ(count(0, 1000), 1000);
}

}  // namespace
}  // namespace rate_limit::used_up_windows_test
