#include <array>
#include <string>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

constexpr std::array<const char*, 14> machines{
    "a", "b", "machine-3.example", "d", "used", "", "g", "h", "i", "j", "k", "l", "m", "n"};
constexpr std::array<Millis, 3> slot_lives{1000, 10'000, 30'000};

std::int64_t choose_number(Both& both) {
    static std::int64_t last = 0;
    if (both.chance().percent(15)) {
        return last - both.chance().below(3);
    }
    last = both.machine_clock() / 1000;
    return last;
}

}  // namespace

void send_hold(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(Kind::slots);
    Hold hold;
    hold.me = chance.one_of(machines);
    hold.number = choose_number(both);
    hold.limit = choose_limit(both);
    hold.want = chance.percent(20) ? 0 : chance.below(chance.percent(90) ? 12 : 1'000'000'000);
    hold.least = chance.percent(40) ? 0 : chance.between(0, hold.want + 1);
    hold.ttl = slot_lives[key % slot_lives.size()];
    const Micros told = chance.percent(15) ? both.machine_clock() : 0;

    both.writer().tell_time(told);
    both.send(key, both.writer().hold(Both::name(key), hold));
    both.writer().tell_time(0);
}

}  // namespace rate_limit::world
