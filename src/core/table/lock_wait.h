#pragma once

namespace rate_limit {

/// The pauses of a process that waits for a lock in shared memory. The lock's owner may run on another
/// processor, may not be running, or may be dead.
class LockWait {
public:
    /// Waits a moment: at first busily, then yielding the processor, in the end asleep. True once in a while:
    /// the caller should then ask whether the owner is alive.
    bool again() noexcept;

private:
    unsigned looks_ = 0;
};

}  // namespace rate_limit
