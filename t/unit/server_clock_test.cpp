#include "core/machine/server_clock.h"

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr Nanos server = 1'700'000'000'000'000'000;  // when the clock here says 0
constexpr Nanos micro = 1000;

TEST(ServerClock, IsUnknownAtFirstAndAfterAWhile) {
    ServerClock clock;
    EXPECT_EQ(clock.at(5), 0);
    clock.learn(server + 50 * micro, 1, 100 * micro);
    EXPECT_NE(clock.at(100 * micro + ServerClock::lately), 0);
    EXPECT_EQ(clock.at(101 * micro + ServerClock::lately), 0);
    clock.forget();
    EXPECT_EQ(clock.at(100 * micro), 0);
}

TEST(ServerClock, IsBehindByNoMoreThanTheQuickestAnswerTook) {
    ServerClock clock;
    Nanos now = micro;
    for (const Nanos back : {70, 20, 90, 300, 25}) {
        clock.learn(server + now + 10 * micro, now, now + (10 + back) * micro);
        now += 1000 * micro;
        EXPECT_LE(clock.at(now), server + now);
    }
    EXPECT_EQ(clock.at(now), server + now - 20 * micro);
}

TEST(ServerClock, FollowsAClockThatIsSet) {
    for (const Nanos step :
         {Nanos{-10'000'000'000}, Nanos{-200'000}, Nanos{200'000}, Nanos{10'000'000'000}}) {
        ServerClock clock;
        clock.learn(server + 10 * micro, 1, 40 * micro);
        clock.learn(server + step + 1000 * micro, 990 * micro, 1010 * micro);
        EXPECT_EQ(clock.at(2000 * micro), server + step + 1990 * micro) << step;
    }
}

TEST(ServerClock, LearnsNothingOfLateAnswers) {
    ServerClock clock;
    clock.learn(server, 1, ServerClock::longest_way + 2);
    EXPECT_EQ(clock.at(ServerClock::longest_way + 2), 0);
    clock.learn(server, 10, 9);
    EXPECT_EQ(clock.at(10), 0);
    clock.learn(server, 1, ServerClock::longest_way);
    EXPECT_EQ(clock.at(ServerClock::longest_way), server);
}

}  // namespace
}  // namespace rate_limit
