#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/table/process.h"

namespace rate_limit {

using IsAlive = bool (*)(const Process& process);

/// The process that takes locks, and how it finds out that another owner has died and will never release one.
struct LockUser {
    Process self;
    IsAlive is_alive = nullptr;
};

/// A lock in shared memory, one word that names its owner. If the owner dies, a process that waits takes the
/// lock over; therefore what the lock guards must be sound after every instruction of its owner. A process
/// waits for an owner that lives but does not run. Not recursive. All zero bytes are a free lock.
class OwnedLock {
public:
    /// True if the lock was taken over from an owner that died, perhaps in the middle of a change.
    bool lock(const LockUser& user) noexcept {
        std::uint64_t free = 0;
        const std::uint64_t self = word_of(user.self);
        return !owner_.compare_exchange_strong(free, self, std::memory_order_acquire,
                                               std::memory_order_relaxed) &&
               wait(user, self);
    }

    void unlock() noexcept { owner_.store(0, std::memory_order_release); }

    /// Names a process in one word; 0: nobody.
    static std::uint64_t word_of(const Process& process) noexcept {
        return (std::uint64_t{process.started} << 32) | process.pid;
    }

    /// The process that such a word names.
    static Process owner_of(std::uint64_t word) noexcept {
        return {static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)};
    }

private:
    bool replace(std::uint64_t owner, std::uint64_t self) noexcept {
        return owner_.compare_exchange_strong(owner, self, std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }

    bool wait(const LockUser& user, std::uint64_t self) noexcept;

    std::atomic<std::uint64_t> owner_{0};
    static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "processes share it");
};

/// Holds at most one lock, and releases it when this object ends.
class HeldLock {
public:
    HeldLock() = default;
    HeldLock(const HeldLock&) = delete;
    HeldLock& operator=(const HeldLock&) = delete;
    ~HeldLock() { release(); }

    /// Returns what OwnedLock::lock() does.
    bool acquire(OwnedLock& lock, const LockUser& user) noexcept {
        const bool inherited = lock.lock(user);
        lock_ = &lock;
        return inherited;
    }

    void release() noexcept {
        if (lock_ != nullptr) {
            lock_->unlock();
            lock_ = nullptr;
        }
    }

private:
    OwnedLock* lock_ = nullptr;
};

/// Finds the one of some things that is this process's own, or takes one for it that is nobody's or whose
/// owner has died. `owners`: the owner of each, as OwnedLock::word_of(). Empty: others have them all.
std::optional<std::size_t> claim_one(std::atomic<std::uint64_t>* owners, std::size_t count,
                                     const LockUser& user) noexcept;

}  // namespace rate_limit
