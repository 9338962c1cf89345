#include "core/machine/workers/server_clock.h"

#include <random>

#include <gtest/gtest.h>

namespace rate_limit::server_clock_test {
namespace {

constexpr Nanos server = 1'700'000'000'000'000'000;  // when the clock here says 0
constexpr Nanos micro = 1000;

bool is_known(const ServerClock& clock, Nanos now) {
    return clock.at(now).earliest != 0;
}

TEST(ServerClock, IsUnknownAtFirstAndAfterAWhile) {
    ServerClock clock;
    EXPECT_FALSE(is_known(clock, 5));
    clock.learn(server + 50 * micro, 1, 100 * micro);
    EXPECT_TRUE(is_known(clock, 100 * micro + ServerClock::lately));
    EXPECT_FALSE(is_known(clock, 101 * micro + ServerClock::lately));
    clock.forget();
    EXPECT_FALSE(is_known(clock, 100 * micro));
}

TEST(ServerClock, IsBetweenItsBoundsWhateverTheWaysAreAndTheClocksPart) {
    std::mt19937 random(1);
    for (const double rate : {1.0, 1.0004, 0.9996}) {
        ServerClock clock;
        const auto server_at = [rate](Nanos here) {
            return server + static_cast<Nanos>(static_cast<double>(here) * rate);
        };
        Nanos now = micro;
        for (int i = 0; i < 10'000; ++i) {
            const Nanos there = std::uniform_int_distribution<Nanos>(10, 5000)(random) * micro;
            const Nanos back = std::uniform_int_distribution<Nanos>(10, 5000)(random) * micro;
            clock.learn(server_at(now + there) / micro * micro, now, now + there + back);
            now += there + back + std::uniform_int_distribution<Nanos>(0, 100'000)(random) * micro;
            const ServerClock::Time time = clock.at(now);
            ASSERT_LE(time.earliest, server_at(now)) << i;
            ASSERT_GE(time.latest, server_at(now)) << i;
        }
    }
}

TEST(ServerClock, IsKnownAsTheQuickestAnswersTellIt) {
    ServerClock clock;
    Nanos now = micro;
    for (const Nanos back : {70, 20, 90, 300, 25}) {
        clock.learn(server + now + 10 * micro, now, now + (10 + back) * micro);
        now += 400 * micro;
    }
    const ServerClock::Time time = clock.at(now);
    EXPECT_NEAR(static_cast<double>(time.earliest - server - now), -20.0 * micro, 2.0 * micro);
    EXPECT_NEAR(static_cast<double>(time.latest - server - now), 10.0 * micro, 3.0 * micro);
}

TEST(ServerClock, FollowsAClockThatIsSet) {
    for (const Nanos step :
         {Nanos{-10'000'000'000}, Nanos{-200'000}, Nanos{200'000}, Nanos{10'000'000'000}}) {
        ServerClock clock;
        clock.learn(server + 10 * micro, 1, 40 * micro);
        clock.learn(server + step + 1000 * micro, 990 * micro, 1010 * micro);
        EXPECT_LE(clock.at(1010 * micro).earliest, server + step + 1010 * micro) << step;
        EXPECT_GE(clock.at(1010 * micro).latest, server + step + 1010 * micro) << step;
    }
}

TEST(ServerClock, LearnsNothingOfLateAnswers) {
    ServerClock clock;
    clock.learn(server, 1, ServerClock::longest_way + 2);
    EXPECT_FALSE(is_known(clock, ServerClock::longest_way + 2));
    clock.learn(server, 10, 9);
    EXPECT_FALSE(is_known(clock, 10));
    clock.learn(server, 1, ServerClock::longest_way);
    EXPECT_EQ(clock.at(ServerClock::longest_way).earliest, server);
}

}  // namespace
}  // namespace rate_limit::server_clock_test
