#include "core/pacing.h"

#include <gtest/gtest.h>

namespace rate_limit::traffic_test {
namespace {

/// Whether it is dense after `count` events that come every `gap` milliseconds.
bool dense_after(int count, std::uint64_t gap) {
    Traffic traffic(2, 4);
    for (int i = 0; i < count; ++i) {
        traffic.add(1000 + static_cast<std::uint64_t>(i) * gap);
    }
    return traffic.is_dense();
}

TEST(Traffic, IsDenseFromTheFourthEventInASlot) {
    EXPECT_FALSE(Traffic(2, 4).is_dense());
    EXPECT_FALSE(dense_after(3, 0));
    EXPECT_TRUE(dense_after(4, 0));
}

TEST(Traffic, IsNeverDenseAtOneEventAMillisecond) {
    for (int count = 1; count < 100; ++count) {
        EXPECT_FALSE(dense_after(count, 1)) << count;
    }
}

TEST(Traffic, StaysDenseOverOneSlotAndNotOverAGap) {
    Traffic traffic(2, 4);
    for (int i = 0; i < 4; ++i) {
        traffic.add(1000);
    }
    traffic.add(1003);
    EXPECT_TRUE(traffic.is_dense()) << "so many in the slot before";
    traffic.add(1005);
    EXPECT_FALSE(traffic.is_dense());
    for (int i = 0; i < 4; ++i) {
        traffic.add(2000);
    }
    traffic.add(2004);
    EXPECT_FALSE(traffic.is_dense()) << "an empty slot lies between";
}

}  // namespace
}  // namespace rate_limit::traffic_test
