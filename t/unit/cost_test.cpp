#include "core/limit/cost.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

TEST(Cost, ReadsDigits) {
    std::int64_t cost = -1;
    EXPECT_TRUE(parse_cost("0", cost));
    EXPECT_EQ(cost, 0);
    EXPECT_TRUE(parse_cost("25", cost));
    EXPECT_EQ(cost, 25);
    EXPECT_TRUE(parse_cost("1000000000", cost));
    EXPECT_EQ(cost, max_cost);
}

TEST(Cost, EmptyIsOne) {
    std::int64_t cost = -1;
    EXPECT_TRUE(parse_cost({}, cost));
    EXPECT_EQ(cost, 1);
}

TEST(Cost, UnreadableIsOneAndFalse) {
    for (const char* text : {"-1", "-0", "+1", " 1", "1 ", "1.0", "1e3", "x", "0x1", "1000000001",
                             "9223372036854775808", "99999999999999999999999"}) {
        std::int64_t cost = 0;
        EXPECT_FALSE(parse_cost(text, cost)) << text;
        EXPECT_EQ(cost, 1) << text;
    }
}

}  // namespace
}  // namespace rate_limit
