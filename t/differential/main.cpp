// Whether the simulated server does what a real one does: random calls of each script, mixed with plain
// commands and with damage, on few keys, so that these come into all states. Both have the same clock, which
// moves by chance. Each answer is compared, byte for byte, and again and again what all keys hold, and how
// long they live.
//
//   differential CLOCK [CALLS [SEED]]
//
// CLOCK is the library made of clock.c; CALLS of each script, 100,000 without another number. The first line
// has the seed, by which a run can be repeated. It fails at the first difference, and prints it.

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string_view>

#include "t/differential/choices.h"
#include "t/differential/cluster.h"

namespace {

using namespace rate_limit;
using namespace rate_limit::world;

constexpr std::int64_t calls_of_each = 100'000;
constexpr std::int64_t most_in_a_batch = 32;
constexpr std::int64_t batches_between_states = 40;

/// Until some window ends, or its key, or just after that. Nothing where that is over, or far away.
Micros step_to_edge(Both& both) {
    constexpr std::array<Millis, 5> before{1001, 1000, 999, 0, -1};
    constexpr Millis too_far = 100'000;
    const Millis life = both.life_of(static_cast<KeyId>(both.chance().below(key_count)));
    const Millis step = life - both.chance().one_of(before);
    return life < 0 || step < 0 || step > too_far ? 0 : step * 1000;
}

/// A moment as a rule; sometimes so long that windows end, and seldom that numbers of calls grow old.
Micros choose_step(Both& both) {
    Chance& chance = both.chance();
    const std::int64_t choice = chance.below(100);
    if (choice < 15) {
        return step_to_edge(both);
    }
    if (choice < 60) {
        return chance.below(3'000);
    }
    if (choice < 85) {
        return chance.below(300'000);
    }
    return chance.below(choice < 98 ? 8'000'000 : choice < 99 ? 100'000'000 : 2'000'000'000);
}

/// Whether each choice calls its script.
bool calls_each_script(Both& both) {
    for (const Choice& choice : choices) {
        choice.send(both);
        const std::string_view called = both.writer().encoded().name;
        const char* const file = script(choice.script).file;
        if (called != file) {
            std::printf("what is to call %s calls %s\n", file, both.writer().encoded().name);
            return false;
        }
    }
    return both.compare_answers();
}

/// False at the first difference.
bool run(Both& both, std::int64_t calls) {
    std::array<std::int64_t, choices.size()> left{};
    left.fill(calls);
    std::int64_t all_left = calls * static_cast<std::int64_t>(choices.size());
    for (std::int64_t batch = 1; all_left > 0; ++batch) {
        for (std::int64_t i = both.chance().between(1, most_in_a_batch); i > 0 && all_left > 0; --i) {
            const std::int64_t other = both.chance().below(100);
            if (other < 8) {
                send_damage(both);
            } else if (other < 12) {
                send_anything(both);
            } else if (other < 27) {
                send_plain(both);
            } else {
                std::size_t at = 0;
                do {
                    at = static_cast<std::size_t>(both.chance().below(choices.size()));
                } while (left.at(at) == 0);
                --left.at(at);
                --all_left;
                choices.at(at).send(both);
            }
        }
        if (!both.compare_answers()) {
            return false;
        }
        if ((batch % batches_between_states == 0 || all_left == 0) && !both.compare_states()) {
            return false;
        }
        both.advance(choose_step(both));
    }
    return true;
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 2 || count > 4) {
        std::fprintf(stderr, "usage: differential CLOCK [CALLS [SEED]]\n");
        return 2;
    }
    const std::int64_t calls = count > 2 ? std::atoll(arguments[2]) : calls_of_each;
    const std::uint64_t seed = count > 3 ? std::strtoull(arguments[3], nullptr, 10) : std::random_device{}();
    std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
    std::fflush(stdout);

    const auto begun = std::chrono::steady_clock::now();
    Both both(arguments[1], seed);
    const bool same = compare_words(both) && calls_each_script(both) && run(both, calls) &&
                      compare_refusals(both) && compare_cluster(arguments[1]);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::printf(
        "%s: %lld calls of each of %zu scripts, %llu answers and the states of %llu keys, in %.1f s\n",
        same ? "the same" : "NOT the same", static_cast<long long>(calls), choices.size(),
        static_cast<unsigned long long>(both.answers_compared()),
        static_cast<unsigned long long>(both.states_compared()), took.count());
    return same ? 0 : 1;
}
