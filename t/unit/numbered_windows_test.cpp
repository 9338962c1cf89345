#include "limiter/charges/numbered_windows.h"

#include <gtest/gtest.h>

namespace rate_limit::numbered_windows_test {
namespace {

constexpr WindowId id(std::uint64_t number) noexcept {
    return {number, number};
}

TEST(NumberedWindows, LetsCallsOfOneWindowGoOneWay) {
    NumberedWindows windows;
    const NumberedWindows::Way first = windows.new_way();
    const NumberedWindows::Way second = windows.new_way();
    EXPECT_TRUE(windows.begin(id(1), first));
    EXPECT_TRUE(windows.begin(id(1), first));
    EXPECT_FALSE(windows.begin(id(1), second));
    EXPECT_TRUE(windows.begin(id(2), second));
    windows.end(id(1));
    EXPECT_FALSE(windows.begin(id(1), second)) << "one goes the first way";
    windows.end(id(1));
    EXPECT_TRUE(windows.begin(id(1), second));
}

TEST(NumberedWindows, LetsOneCallOfAWindowGoAlone) {
    NumberedWindows windows;
    EXPECT_TRUE(windows.begin(id(1)));
    EXPECT_FALSE(windows.begin(id(1)));
    EXPECT_FALSE(windows.begin(id(1), windows.new_way()));
    windows.end(id(1));
    EXPECT_TRUE(windows.begin(id(1)));
}

TEST(NumberedWindows, HasSoManyCallsAndNoMore) {
    NumberedWindows windows;
    const NumberedWindows::Way way = windows.new_way();
    for (std::uint64_t i = 0; i < NumberedWindows::most; ++i) {
        ASSERT_TRUE(windows.begin(id(i % 100), way)) << i;
    }
    EXPECT_FALSE(windows.begin(id(1), way)) << "one more of a window";
    EXPECT_FALSE(windows.begin(id(1000), way)) << "one more window";
    windows.end(id(1000));
    EXPECT_FALSE(windows.begin(id(1000), way)) << "it had not begun";
    windows.end(id(1));
    EXPECT_TRUE(windows.begin(id(1000), way));
    EXPECT_FALSE(windows.begin(id(1), way));
}

}  // namespace
}  // namespace rate_limit::numbered_windows_test
