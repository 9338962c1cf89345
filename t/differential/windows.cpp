#include <algorithm>
#include <array>
#include <string>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

constexpr std::int64_t largest = 1'000'000'000'000;  // the largest limit and cost
constexpr std::array<Period, 6> periods{{{1, WindowKind::first},
                                         {10, WindowKind::clock},
                                         {60, WindowKind::first},
                                         {3600, WindowKind::first},
                                         {3600, WindowKind::clock},
                                         {86400, WindowKind::first}}};
constexpr Period of_crowds{86400, WindowKind::first};
constexpr std::size_t worker_count = 700;

const std::string& worker(std::int64_t at) {
    static const std::array<std::string, worker_count> names = [] {
        std::array<std::string, worker_count> made;
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = i == 3 ? std::string() : "machine-" + std::to_string(i) + ".1234";
        }
        return made;
    }();
    return names[static_cast<std::size_t>(at)];
}

bool is_crowd(KeyId key) {
    const Keys& keys = keys_of_kind[static_cast<std::size_t>(Kind::crowd)];
    return key >= keys.first && key < keys.first + static_cast<KeyId>(keys.count);
}

Kind choose_kind(Both& both, int percent_of_crowds) {
    return both.chance().percent(percent_of_crowds) ? Kind::crowd : Kind::window;
}

}  // namespace

Period period_of(Both& both, KeyId key) {
    if (is_crowd(key)) {
        return of_crowds;
    }
    return both.chance().below(50) == 0 ? both.chance().one_of(periods) : periods[key % periods.size()];
}

Opening opening_of(Both& both, KeyId key) {
    const Period period = period_of(both, key);
    const Millis now = both.machine_clock() / 1000;
    return {Both::name(key), now, propose_reset(period.kind, period.seconds, now),
            latest_reset(period.seconds, now)};
}

std::int64_t choose_cost(Both& both) {
    constexpr std::array<std::int64_t, 8> ends{2, 4, 10, 10, 100, 1'000'000, largest, largest};
    return both.chance().below(200) == 0 ? largest : both.chance().below(both.chance().one_of(ends));
}

std::int64_t choose_limit(Both& both) {
    constexpr std::array<std::int64_t, 8> limits{1, 5, 20, 20, 100, 1000, 1'000'000, largest};
    return both.chance().one_of(limits);
}

Millis choose_reset(Both& both, KeyId key) {
    const auto reset = both.stored_number(key, "reset");
    if (!reset || both.chance().below(20) == 0) {
        return both.now() + both.chance().below(100'000);
    }
    return *reset;
}

Numbered choose_number(Both& both, KeyId key) {
    static std::array<std::array<std::int64_t, worker_count>, key_count> last{};
    Chance& chance = both.chance();
    if (!is_crowd(key) && chance.percent(40)) {
        return {};
    }
    const std::int64_t me = chance.below(is_crowd(key) ? static_cast<std::int64_t>(worker_count) : 5);
    std::int64_t& before = last.at(static_cast<std::size_t>(key)).at(static_cast<std::size_t>(me));
    if (before != 0 && chance.percent(30)) {
        return {worker(me), std::max<std::int64_t>(1, before - (chance.percent(50) ? 0 : chance.below(3)))};
    }
    before = std::max(before + 1, both.machine_clock());
    return {worker(me), before};
}

void send_charge(Both& both) {
    const KeyId key = both.choose(choose_kind(both, 2));
    const Opening opening = opening_of(both, key);
    const std::int64_t cost = choose_cost(both);
    const bool raises = both.chance().percent(30);
    both.send(key, raises ? both.writer().charge(opening, cost, false, choose_cost(both))
                          : both.writer().charge(opening, cost));
}

void send_repair(Both& both) {
    const KeyId key = both.choose(choose_kind(both, 2));
    const Opening opening = opening_of(both, key);
    both.send(key, both.writer().repair(opening));
}

void send_refund(Both& both) {
    const KeyId key = both.choose(choose_kind(both, 20));
    const Millis reset = choose_reset(both, key);
    const std::int64_t cost = choose_cost(both);
    const Numbered number = choose_number(both, key);
    const Emptied emptied = both.chance().percent(30) ? Emptied::stays : Emptied::closes;
    both.send(key, both.writer().refund(Both::name(key), cost, reset, number, emptied));
}

void send_reserve(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(choose_kind(both, 20));
    const Opening opening = opening_of(both, key);
    Wanted wanted;
    wanted.limit = is_crowd(key) && chance.percent(90) ? largest : choose_limit(both);
    wanted.want = choose_cost(both);
    wanted.least =
        chance.percent(50) ? std::min<std::int64_t>(1, wanted.want) : chance.below(wanted.want + 1);
    wanted.parts = chance.percent(50) ? 1 : chance.between(1, 8);
    if (chance.percent(40)) {
        wanted.back = choose_cost(both);
        wanted.of = choose_reset(both, key);
    }
    wanted.call = choose_number(both, key);
    both.send(key, both.writer().reserve(opening, wanted));
}

}  // namespace rate_limit::world
