#include "core/limit/rate.h"

#include <utility>

#include <gtest/gtest.h>

namespace rate_limit::cost_test {
namespace {

TEST(Cost, ReadsDigitsAndNothingAsOne) {
    for (const auto& [text, expected] :
         {std::pair{"0", std::int64_t{0}}, {"25", 25}, {"1000000000000", max_cost}, {"", 1}}) {
        std::int64_t cost = -1;
        EXPECT_TRUE(parse_cost(text, cost)) << text;
        EXPECT_EQ(cost, expected) << text;
    }
}

TEST(Cost, UnreadableIsOneAndFalse) {
    for (const char* text : {"-1", "-0", "+1", " 1", "1 ", "1.0", "1e3", "x", "0x1", "1000000000001",
                             "9223372036854775808", "99999999999999999999999"}) {
        std::int64_t cost = 0;
        EXPECT_FALSE(parse_cost(text, cost)) << text;
        EXPECT_EQ(cost, 1) << text;
    }
}

}  // namespace
}  // namespace rate_limit::cost_test
