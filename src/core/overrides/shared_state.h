#pragma once

#include <atomic>
#include <cstdint>

#include "core/limit/bucket.h"

namespace rate_limit {

/// One version of what machines share, as it was read. Times are of a clock that nobody sets and that all
/// processes of the machine share.
struct SharedVersion {
    std::int64_t number = 0;
    Nanos asked = 0;  ///< when it was asked for
    Nanos taken = 0;  ///< when it is taken up
};

/// The knowledge that this machine's workers have of the overrides that the machines of one store share,
/// beside those themselves, which are in the OverrideTable. In memory that is all zero at first.
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

    /// Whether the version that was taken up last is in the table but for some that found no room.
    bool is_incomplete() const noexcept { return incomplete_.load(std::memory_order_relaxed); }

    /// Whether this version is to be taken up. An earlier one, which a failover has left, is news only if it
    /// was asked for 5 s or more after the last one was taken up: before that, a late read or a worker that
    /// still asks the former primary may have brought it.
    bool is_news(const SharedVersion& of) const noexcept {
        constexpr Nanos lasting = 5'000'000'000;
        return of.number > version() ||
               (of.number == version() ? is_incomplete()
                                       : of.asked - taken_.load(std::memory_order_relaxed) >= lasting);
    }

    /// Whether a version was taken up after that time: what was asked for then may be of before.
    bool has_taken_since(Nanos asked) const noexcept {
        return taken_.load(std::memory_order_relaxed) > asked;
    }

    /// This version is in the table, perhaps but for some.
    void take(const SharedVersion& of, bool incomplete) noexcept {
        incomplete_.store(incomplete, std::memory_order_relaxed);
        version_.store(of.number, std::memory_order_relaxed);
        taken_.store(of.taken, std::memory_order_relaxed);
    }

    /// This version of what Redis had could not be taken.
    void refuse(std::int64_t version) noexcept { refused_.store(version, std::memory_order_relaxed); }
    bool is_refused(std::int64_t version) const noexcept {
        return refused_.load(std::memory_order_relaxed) == version;
    }

    /// The table of this zone, which a random number names, has the last good ones, as far as they have not
    /// ended.
    void set_good_in(std::uint64_t zone) noexcept { good_in_.store(zone, std::memory_order_relaxed); }
    bool has_last_good(std::uint64_t zone) const noexcept {
        return good_in_.load(std::memory_order_relaxed) == zone;
    }

    /// Takes over where the last good ones are, and what the log has said, from the configuration of before.
    /// The version is not: what is there is to be read again. To be called before others use this one.
    void inherit(const SharedState& before) noexcept {
        good_in_.store(before.good_in_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        told_.store(before.told_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    }

    /// Notes what the log says of them. False: that is what it has said last.
    bool tell(std::uint32_t what) noexcept { return told_.exchange(what, std::memory_order_relaxed) != what; }

private:
    std::atomic<std::uint32_t> turn_{0};
    std::atomic<std::uint32_t> told_{0};
    std::atomic<std::int64_t> version_{0};
    std::atomic<std::int64_t> refused_{0};
    std::atomic<Nanos> taken_{0};
    std::atomic<bool> incomplete_{false};
    std::atomic<std::uint64_t> good_in_{0};
};

}  // namespace rate_limit
