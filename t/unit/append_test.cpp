#include "core/decimal.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace rate_limit::append_test {
namespace {

std::string decimal_of(std::int64_t number) {
    std::array<char, max_number + 1> text{};
    text.fill('~');
    const char* const begin = text.data();
    const char* const end = append(text.data(), number);
    EXPECT_EQ(*end, '~') << number;
    return {begin, end};
}

void expect_same(std::int64_t number) {
    EXPECT_EQ(decimal_of(number), std::to_string(number));
    EXPECT_EQ(decimal_of(-number), std::to_string(-number));
}

TEST(Append, NumbersAroundEachPowerOfTenAndTwo) {
    for (std::int64_t power = 1; power <= std::numeric_limits<std::int64_t>::max() / 10; power *= 10) {
        for (const std::int64_t off : {-1, 0, 1}) {
            expect_same(power + off);
        }
        expect_same(power * 9 + power / 2);
    }
    for (int bit = 0; bit < 63; ++bit) {
        for (const std::int64_t off : {-1, 0, 1}) {
            expect_same((std::int64_t{1} << bit) + off);
        }
    }
}

TEST(Append, TheEndsOfTheRange) {
    expect_same(std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ(decimal_of(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(Append, EveryNumberOfUpToFourDigits) {
    for (std::int64_t number = 0; number < 10000; ++number) {
        expect_same(number);
    }
}

}  // namespace
}  // namespace rate_limit::append_test
