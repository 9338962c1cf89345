#include <algorithm>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

void send_check(Both& both) {
    const KeyId key = both.choose(both.chance().percent(10) ? Kind::crowd : Kind::window);
    both.send(key, both.writer().check(Both::name(key)));
}

void send_check_of_penalty(Both& both) {
    const KeyId key = both.choose(Kind::window);
    both.send(key, both.writer().check_penalty(Both::name(key)));
}

void send_look_at_overrides(Both& both) {
    const KeyId key = both.choose(Kind::overrides);
    both.send(key, both.chance().percent(50) ? both.writer().overrides_version(Both::name(key))
                                             : both.writer().overrides(Both::name(key)));
}

void send_increment(Both& both) {
    const KeyId key = both.choose(Kind::window);
    const std::int64_t cost = choose_cost(both);
    both.send(key, both.writer().increment(Both::name(key), cost));
}

Nanos choose_worth(Both& both, KeyId key) {
    const Tokens tokens = tokens_of(both, key);
    return tokens.token * both.chance().between(1, std::min<std::int64_t>(3, tokens.burst));
}

void send_take(Both& both) {
    const KeyId key = both.choose(Kind::bucket);
    const Nanos now = both.machine_clock() * 1000;
    const Nanos cost = choose_worth(both, key);
    both.send(key, both.writer().take(Both::name(key), now, cost));
}

void send_take_of_filling(Both& both) {
    const KeyId key = both.choose(Kind::bucket);
    const Nanos cost = choose_worth(both, key);
    both.send(key, both.writer().take_of_filling(Both::name(key), cost));
}

}  // namespace

void send_plain(Both& both) {
    switch (both.chance().below(6)) {
        case 0:
            return send_check(both);
        case 1:
            return send_increment(both);
        case 2:
            return send_take(both);
        case 3:
            return send_check_of_penalty(both);
        case 4:
            return send_look_at_overrides(both);
        default:
            return send_take_of_filling(both);
    }
}

}  // namespace rate_limit::world
