#include "core/table/lock_wait.h"

#include <chrono>
#include <thread>

namespace rate_limit {

namespace {

constexpr unsigned pauses_a_look = 16;   // a look takes the line from the owner, who writes it
constexpr unsigned looks_a_turn = 8;     // a microsecond or some: several changes of a record
constexpr unsigned turns_to_yield = 64;  // then the owner is not running: leave it the processor
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
