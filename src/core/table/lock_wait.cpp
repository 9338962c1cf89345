#include "core/table/lock_wait.h"

#include <chrono>
#include <thread>

namespace rate_limit {

namespace {

constexpr unsigned pauses_a_look = 16;   // each look takes the cache line from the owner, which writes to it
constexpr unsigned looks_a_turn = 8;     // a turn lasts a microsecond or a few: several changes of a record
constexpr unsigned turns_to_yield = 64;  // after these the owner is not running: sleep, so that it can
constexpr unsigned turns_between_tests = 64;
constexpr std::chrono::microseconds nap{100};

void pause() noexcept {
    for (unsigned i = 0; i < pauses_a_look; ++i) {
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#elif defined(__aarch64__)
        asm volatile("isb" ::: "memory");
#endif
    }
}

}  // namespace

bool LockWait::again() noexcept {
    pause();
    if (++looks_ % looks_a_turn != 0) {
        return false;
    }
    const unsigned turn = looks_ / looks_a_turn;
    if (turn < turns_to_yield) {
        std::this_thread::yield();
    } else {
        std::this_thread::sleep_for(nap);
    }
    return turn % turns_between_tests == 0;
}

}  // namespace rate_limit
