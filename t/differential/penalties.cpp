#include <array>
#include <limits>

#include "redis/script_reply.h"
#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

constexpr Millis farthest = std::numeric_limits<Millis>::max();
constexpr std::array<Millis, 6> lives{1, 1'000, 60'000, 3'600'000, longest_penalty, longest_penalty + 60'001};
constexpr std::array<Millis, 6> odd_lives{-2,           -60'000,  1'000'000'000'000'000,
                                          farthest - 1, farthest, -farthest};
constexpr std::array<Millis, 4> far_skews{3'600'000, 86'400'000, longest_penalty + 61'000, 1'700'000'000'000};

Millis choose_life(Both& both) {
    Chance& chance = both.chance();
    switch (chance.below(8)) {
        case 0:
        case 1:
        case 2:
            return 0;
        case 3:
            return ends_penalty;
        case 4:
            return chance.below(100'000);
        default:
            return chance.percent(5) ? chance.one_of(odd_lives) : chance.one_of(lives);
    }
}

/// A machine's clock, which now and then has been set, and far as a rule then.
Micros choose_clock(Both& both) {
    const Micros clock = both.machine_clock();
    if (both.chance().percent(90)) {
        return clock;
    }
    return clock + both.chance().one_of(far_skews) * (both.chance().percent(70) ? -1000 : 1000);
}

}  // namespace

/// Of a window where a bucket is, or the reverse, now and then.
void send_penalty(Both& both) {
    Chance& chance = both.chance();
    PenaltyOrder order;
    order.of_bucket = chance.percent(50);
    const KeyId key = both.choose(order.of_bucket == chance.percent(95) ? Kind::bucket : Kind::window);
    order.life = choose_life(both);
    order.now = choose_clock(both) / 1000;
    const Micros told = chance.percent(15) ? choose_clock(both) : 0;

    both.writer().tell_time(told);
    both.send(key, both.writer().penalty(Both::name(key), order));
    both.writer().tell_time(0);
}

}  // namespace rate_limit::world
