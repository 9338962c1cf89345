#include "redis/script_reply.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "raw_reply.h"

namespace rate_limit::hold_reply_test {
namespace {

constexpr Hold call{"0123456789abcdef", 1000, 20, 5, 4, 30'000};

Fault read(const std::vector<std::int64_t>& numbers, Held& held) {
    std::string bytes = "*" + std::to_string(numbers.size()) + "\r\n";
    for (const std::int64_t number : numbers) {
        bytes += ":" + std::to_string(number) + "\r\n";
    }
    return read_held(*RawReply(bytes), call, held);
}

TEST(HoldReply, TellsWhoHoldsHowMany) {
    Held held;
    EXPECT_EQ(read({5, 7, 1000}, held), Fault::none);
    EXPECT_EQ(held.mine, 5);
    EXPECT_EQ(held.others, 7);
    EXPECT_EQ(held.number, 1000);
    EXPECT_EQ(read({3, 17, 1000}, held), Fault::none) << "what runs, as there is no more";
    EXPECT_EQ(read({9, 0, 1001}, held), Fault::none) << "a later call stands";
    EXPECT_EQ(read({5, 0, 1000, 1}, held), Fault::none) << "another type has given way";
    EXPECT_EQ(held.mine, 5);
}

TEST(HoldReply, IsNotBelievedWhereTheScriptCannotSayIt) {
    for (const auto& odd : std::vector<std::vector<std::int64_t>>{
             {6, 7, 1000},     // more than was wanted
             {5, 7, 999},      // an earlier call
             {-1, 7, 1000},    // fewer than none
             {5, -7, 1000},    //
             {5, 7},           //
             {5, 7, 1000, 0},  //
             {5, 7, 1000, 2},  //
             {5, 7, 1000, 1, 1},
             {6, 7, 1000, 1},  //
             {},               //
             {5, 2'000'000'000'000'000, 1000},
         }) {
        Held held;
        held.mine = 77;
        EXPECT_EQ(read(odd, held), Fault::malformed);
        EXPECT_EQ(held.mine, 0);
    }
    Held held;
    EXPECT_EQ(read_held(*RawReply("-NOSCRIPT no\r\n"), call, held), Fault::noscript);
    EXPECT_EQ(read_held(*RawReply(":5\r\n"), call, held), Fault::malformed);
}

}  // namespace
}  // namespace rate_limit::hold_reply_test
