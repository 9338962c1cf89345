#include "limiter/log_throttle.h"

#include <string>
#include <vector>

#include "t/world/loop.h"

namespace rate_limit::log_throttle_test {
namespace {

using Lines = std::vector<std::string>;

/// Something that goes wrong: its line says how often since the line before.
struct Cause {
    int count = 0;
    LogThrottle throttle{write, this};

    void happen() {
        ++count;
        throttle.tell(process_log());
    }

    static void write(void* self, Log& log) noexcept {
        auto& cause = *static_cast<Cause*>(self);
        log_line(log, LogLevel::error, "happened %d times", cause.count);
        cause.count = 0;
    }
};

TEST(LogThrottle, WritesTheFirstLineAtOnceAndTheRestWithinTwoSeconds) {
    world::Events events;
    world::Loop loop(events);
    Cause cause;
    cause.happen();
    EXPECT_EQ(loop.take_lines(), Lines{"happened 1 times"});
    for (int i = 0; i < 900; ++i) {
        cause.happen();
        loop.pass(1);
    }
    EXPECT_EQ(loop.take_lines(), Lines{});
    loop.pass(1100);
    EXPECT_EQ(loop.take_lines(), Lines{"happened 900 times"});
    loop.pass(60'000);
    EXPECT_EQ(loop.take_lines(), Lines{}) << "nothing more happened";
}

TEST(LogThrottle, WritesALineASecondAtMost) {
    world::Events events;
    world::Loop loop(events);
    Cause cause;
    for (int i = 0; i < 10'000; ++i) {
        cause.happen();
        loop.pass(1);
    }
    EXPECT_LE(loop.take_lines().size(), 10U);
    EXPECT_LT(cause.count, 1500) << "all but the last is told";
    LogThrottle::tell_all_rest();
    EXPECT_EQ(cause.count, 0);
}

TEST(LogThrottle, TellsWhatIsHeldBackWhenItsOwnerEnds) {
    world::Events events;
    world::Loop loop(events);
    {
        Cause cause;
        cause.happen();
        cause.happen();
        loop.take_lines();
    }
    EXPECT_EQ(loop.take_lines(), Lines{"happened 1 times"});
}

}  // namespace
}  // namespace rate_limit::log_throttle_test
