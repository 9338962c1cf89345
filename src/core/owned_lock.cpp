#include "core/owned_lock.h"

#include <chrono>
#include <thread>

namespace rate_limit {

namespace {

constexpr unsigned looks = 8;            // about a microsecond: several changes of a record
constexpr unsigned pauses_a_look = 16;   // each look takes the line from the owner, who needs it
constexpr unsigned turns_to_yield = 64;  // then the owner is not running: leave it the processor
constexpr unsigned turns_between_tests = 64;
constexpr std::chrono::microseconds nap{100};

void pause_once() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

void pause() noexcept {
    for (unsigned i = 0; i < pauses_a_look; ++i) {
        pause_once();
    }
}

}  // namespace

bool OwnedLock::wait(const LockUser& user, std::uint64_t self) noexcept {
    for (unsigned turn = 1;; ++turn) {
        // Reading leaves the line with all who wait; only a free lock is worth asking for it alone.
        for (unsigned i = 0; i < looks; ++i) {
            if (owner_.load(std::memory_order_relaxed) == 0 && take(0, self)) {
                return false;
            }
            pause();
        }
        if (turn % turns_between_tests == 0) {
            // A dead owner's word stays until somebody replaces it, so the exchange succeeds only if the
            // owner that was tested still stands there, and for one of those who found it dead.
            const std::uint64_t owner = owner_.load(std::memory_order_relaxed);
            if (owner != 0 && !user.is_alive(process_of(owner)) && take(owner, self)) {
                return true;
            }
        }
        if (turn < turns_to_yield) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(nap);
        }
    }
}

}  // namespace rate_limit
