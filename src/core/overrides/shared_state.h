#pragma once

#include <atomic>
#include <cstdint>
#include <limits>

#include "core/limit/bucket.h"
#include "core/limit/clocks.h"

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
        return since(last, now) >= interval &&
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
        missed_.store(0, std::memory_order_relaxed);
        taken_.store(of.taken, std::memory_order_relaxed);
    }

    /// This version of what Redis had could not be taken: before `until` it is not read again.
    void refuse(std::int64_t version, Nanos until = std::numeric_limits<Nanos>::max()) noexcept {
        refused_until_.store(until, std::memory_order_relaxed);
        refused_.store(version, std::memory_order_relaxed);
    }
    bool is_refused(std::int64_t version, Nanos now) const noexcept {
        return refused_.load(std::memory_order_relaxed) == version &&
               now < refused_until_.load(std::memory_order_relaxed);
    }

    /// All of this version was `asked` for, and did not come in time. True: at least for the third time in a
    /// row. It does not count where a version was taken up meanwhile.
    bool miss(std::int64_t version, Nanos asked) noexcept {
        if (has_taken_since(asked)) {
            return false;
        }
        if (missed_.exchange(version, std::memory_order_relaxed) != version) {
            misses_.store(0, std::memory_order_relaxed);
        }
        return misses_.fetch_add(1, std::memory_order_relaxed) + 1 >= 3;
    }

    /// The table of this zone, which a random number names, has the last good ones, as far as they have not
    /// ended.
    void set_good_in(std::uint64_t zone) noexcept { good_in_.store(zone, std::memory_order_relaxed); }
    bool has_last_good(std::uint64_t zone) const noexcept {
        return good_in_.load(std::memory_order_relaxed) == zone;
    }

    /// A look has found nothing wrong. After ten in a row all that goes wrong next is told, and a refused
    /// version is read again. Fewer do not count: connections may lead to two servers in turn.
    void look_well() noexcept {
        if (good_looks_.fetch_add(1, std::memory_order_relaxed) + 1 == enough_looks) {
            told_.store(0, std::memory_order_relaxed);
            refused_.store(0, std::memory_order_relaxed);
        }
    }

    /// A look has found what is wrong, and was found before.
    void look_badly() noexcept { good_looks_.store(0, std::memory_order_relaxed); }

    /// The user may not look. True: the log has not said so since ten looks in a row were allowed.
    bool forbid() noexcept {
        allowed_looks_.store(0, std::memory_order_relaxed);
        return !told_forbidden_.exchange(true, std::memory_order_relaxed);
    }

    /// The user may look.
    void allow() noexcept {
        if (allowed_looks_.fetch_add(1, std::memory_order_relaxed) + 1 == enough_looks) {
            told_forbidden_.store(false, std::memory_order_relaxed);
        }
    }

    /// Takes over where the last good ones are, and what the log has said, from the configuration of before.
    /// The version is not: what is there is to be read again. To be called before others use this one.
    void inherit(const SharedState& before) noexcept {
        good_in_.store(before.good_in_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        told_.store(before.told_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        told_forbidden_.store(before.told_forbidden_.load(std::memory_order_relaxed),
                              std::memory_order_relaxed);
    }

    /// Notes what the log says of them. False: that is what it has said last.
    bool tell(std::uint32_t what) noexcept {
        look_badly();
        return told_.exchange(what, std::memory_order_relaxed) != what;
    }

private:
    static constexpr std::uint32_t enough_looks = 10;

    std::atomic<std::uint32_t> turn_{0};
    std::atomic<std::uint32_t> told_{0};
    std::atomic<std::uint32_t> good_looks_{0};
    std::atomic<std::uint32_t> allowed_looks_{0};
    std::atomic<bool> told_forbidden_{false};
    std::atomic<std::int64_t> version_{0};
    std::atomic<std::int64_t> refused_{0};
    std::atomic<Nanos> refused_until_{0};
    std::atomic<std::int64_t> missed_{0};
    std::atomic<std::uint32_t> misses_{0};
    std::atomic<Nanos> taken_{0};
    std::atomic<bool> incomplete_{false};
    std::atomic<std::uint64_t> good_in_{0};
};

}  // namespace rate_limit
