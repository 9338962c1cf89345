#include "core/table/owned_lock.h"

#include "core/table/lock_wait.h"

namespace rate_limit {

bool OwnedLock::wait(const LockUser& user, std::uint64_t self) noexcept {
    for (LockWait wait;;) {
        // Processes that wait share the cache line as long as they only read. An exchange takes the line from
        // the others, so it is tried only when the lock is free.
        const std::uint64_t owner = owner_.load(std::memory_order_relaxed);
        if (owner == 0) {
            if (replace(0, self)) {
                return false;
            }
            continue;
        }
        // A dead owner's word stays until a process replaces it. So the exchange succeeds only if the owner
        // that was found dead is still the owner, and for only one of the processes that found it so.
        if (wait.again() && !user.is_alive(owner_of(owner)) && replace(owner, self)) {
            return true;
        }
    }
}

std::optional<std::size_t> claim_one(std::atomic<std::uint64_t>* owners, std::size_t count,
                                     const LockUser& user) noexcept {
    const std::uint64_t self = OwnedLock::word_of(user.self);
    for (std::size_t i = 0; i < count && self != 0; ++i) {
        if (owners[i].load(std::memory_order_relaxed) == self) {
            return i;
        }
    }
    for (std::size_t i = 0; i < count && self != 0; ++i) {
        std::uint64_t owner = owners[i].load(std::memory_order_acquire);
        const bool free = owner == 0 || !user.is_alive(OwnedLock::owner_of(owner));
        if (free && owners[i].compare_exchange_strong(owner, self, std::memory_order_acq_rel)) {
            return i;
        }
    }
    return std::nullopt;
}

}  // namespace rate_limit
