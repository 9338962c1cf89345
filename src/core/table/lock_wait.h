#pragma once

namespace rate_limit {

/// How one waits for a lock in shared memory whose owner may be on another processor, may not be running, or
/// may be dead.
class LockWait {
public:
    /// Waits a moment: first on the processor, then leaving it to others, at last asleep. True once in a
    /// while: time to ask whether the owner is alive.
    bool again() noexcept;

private:
    unsigned looks_ = 0;
};

}  // namespace rate_limit
