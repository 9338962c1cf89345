#include <algorithm>

#include "bench/simulate/server/differential/choices.h"

namespace rate_limit::simulated {
namespace {

void send_check(Both& both) {
    const KeyId key = both.choose(both.chance().percent(10) ? Kind::crowd : Kind::window);
    const auto answer = both.simulated().check(key, both.clock());
    both.send(key, both.writer().check(Both::name(key)), in_words(answer));
}

void send_increment(Both& both) {
    const KeyId key = both.choose(Kind::window);
    const std::int64_t cost = choose_cost(both);
    const auto answer = both.simulated().increment(key, both.clock(), cost);
    both.send(key, both.writer().increment(Both::name(key), cost), in_words(answer));
}

Nanos choose_worth(Both& both, KeyId key) {
    const Tokens tokens = tokens_of(both, key);
    return tokens.token * both.chance().between(1, std::min<std::int64_t>(3, tokens.burst));
}

void send_take(Both& both) {
    const KeyId key = both.choose(Kind::bucket);
    const Nanos now = both.machine_clock() * 1000;
    const Nanos cost = choose_worth(both, key);
    const auto answer = both.simulated().take(key, both.clock(), now, cost);
    both.send(key, both.writer().take(Both::name(key), now, cost), in_words(answer));
}

void send_take_of_filling(Both& both) {
    const KeyId key = both.choose(Kind::bucket);
    const Nanos cost = choose_worth(both, key);
    const auto answer = both.simulated().take_of_filling(key, both.clock(), cost);
    const std::string expected =
        answer.fault == Fault::none ? '[' + std::to_string(answer.value.after) + ']' : in_words(answer.fault);
    both.send(key, both.writer().take_of_filling(Both::name(key), cost), expected);
}

}  // namespace

void send_plain(Both& both) {
    switch (both.chance().below(4)) {
        case 0:
            return send_check(both);
        case 1:
            return send_increment(both);
        case 2:
            return send_take(both);
        default:
            return send_take_of_filling(both);
    }
}

}  // namespace rate_limit::simulated
