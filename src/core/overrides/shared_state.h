#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/overrides/shared_text.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// The overrides of one store that machines share, as this machine's workers know them. In memory that
/// is all zero at first.
class SharedState {
public:
    /// True once in `interval` milliseconds, of a clock that all processes share, for one process.
    bool take_turn(std::uint32_t now, std::uint32_t interval) noexcept {
        std::uint32_t last = turn_.load(std::memory_order_relaxed);
        return now - last >= interval && last - now >= interval &&
               turn_.compare_exchange_strong(last, now, std::memory_order_relaxed);
    }

    /// The version that was taken up last; 0: none was.
    std::int64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }

    /// Whether this version is to be taken up: not if a read of before the last change has brought it.
    bool is_news(std::int64_t version, Millis now) const noexcept {
        constexpr Millis longest_read = 5000;
        const Millis since = now - taken_.load(std::memory_order_relaxed);
        return version > this->version() ||
               (version != this->version() && (since < 0 || since >= longest_read));
    }

    /// A text of this version could not be taken.
    void refuse(std::int64_t version) noexcept { refused_.store(version, std::memory_order_relaxed); }
    bool is_refused(std::int64_t version) const noexcept {
        return refused_.load(std::memory_order_relaxed) == version;
    }

    /// Keeps the text as the last good one.
    void take(std::int64_t version, std::string_view text, Millis now, const LockUser& user) noexcept;

    /// The last good one; empty: there is none. Throws std::bad_alloc.
    std::string last_good(const LockUser& user);

    /// Whether there is one.
    bool has_last_good() const noexcept { return size_.load(std::memory_order_relaxed) != 0; }

    /// Takes over the last good text, and what the log has said, from the configuration of before. The
    /// version is not: what is there is to be read again. To be called before others use this one.
    void inherit(SharedState& before, const LockUser& user) noexcept;

    /// Notes what the log says of them. False: that is what it has said last.
    bool tell(std::uint32_t what) noexcept { return told_.exchange(what, std::memory_order_relaxed) != what; }

private:
    std::atomic<std::uint32_t> turn_;
    std::atomic<std::uint32_t> told_;
    std::atomic<std::int64_t> version_;
    std::atomic<std::int64_t> refused_;
    std::atomic<Millis> taken_;
    OwnedLock lock_;  // guards what follows
    std::atomic<std::size_t> size_;
    std::array<char, most_shared_text> text_;
};

inline void SharedState::take(std::int64_t version, std::string_view text, Millis now,
                              const LockUser& user) noexcept {
    HeldLock held;
    held.acquire(lock_, user);
    size_ = 0;  // a worker that inherits the lock from a process that died in here finds no text
    std::atomic_signal_fence(std::memory_order_seq_cst);
    text.copy(text_.data(), text_.size());
    std::atomic_signal_fence(std::memory_order_seq_cst);
    size_ = text.size() <= text_.size() ? text.size() : 0;
    version_.store(version, std::memory_order_relaxed);
    taken_.store(now, std::memory_order_relaxed);
}

inline std::string SharedState::last_good(const LockUser& user) {
    HeldLock held;
    held.acquire(lock_, user);
    return {text_.data(), size_};
}

inline void SharedState::inherit(SharedState& before, const LockUser& user) noexcept {
    HeldLock held;
    held.acquire(before.lock_, user);
    const std::size_t size = before.size_;
    std::copy_n(before.text_.begin(), size, text_.begin());
    size_ = size;
    told_.store(before.told_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

}  // namespace rate_limit
