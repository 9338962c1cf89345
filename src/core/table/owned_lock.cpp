#include "core/table/owned_lock.h"

#include "core/table/lock_wait.h"

namespace rate_limit {

bool OwnedLock::wait(const LockUser& user, std::uint64_t self) noexcept {
    for (LockWait wait;;) {
        // Reading leaves the line with all who wait; only a free lock is worth asking for it alone.
        const std::uint64_t owner = owner_.load(std::memory_order_relaxed);
        if (owner == 0) {
            if (take(0, self)) {
                return false;
            }
            continue;
        }
        // A dead owner's word stays until somebody replaces it, so the exchange succeeds only if the owner
        // that was tested still stands there, and for one of those who found it dead.
        if (wait.again() && !user.is_alive(process_of(owner)) && take(owner, self)) {
            return true;
        }
    }
}

}  // namespace rate_limit
