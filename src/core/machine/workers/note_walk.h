#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/machine/records/debt_record.h"
#include "core/machine/workers/shared_walk.h"

namespace rate_limit {

/// A waiting charge or a note of tokens that a walk has found.
struct Noted {
    WindowId id;
    Millis reset = 0;
    Millis looked_at = 0;
    std::uint64_t shard = 0;
    DebtKind kind = DebtKind::charges;
    bool ended = false;  ///< its window has, or the clock was set back since it was noted for a bucket
};

/// A record that a walk passes, and whose window has not ended.
struct Seen {
    WindowId id;  ///< the window's own
    Millis reset = 0;
    std::uint64_t shard = 0;
    std::uint64_t charges = 0;
    DebtKind kind = DebtKind::charges;
    std::uint32_t tag = 0;    ///< of slots: the limit's
    std::uint32_t terms = 0;  ///< DebtRecord::terms(), of a bucket's tokens
};

/// How a worker has dealt with what the walk found.
enum class Looked : unsigned char {
    not_at_all,  ///< nothing: its shard is away, is not configured here, or drops it itself
    kept,
    given_back,  ///< its tokens are on their way back to the primary
};

/// One worker's way over a table of waiting charges and notes of tokens, a few sets at a time: no turn of its
/// event loop does more than this says, however full the table is.
class NoteWalk {
public:
    static constexpr std::size_t sets_a_turn = 512;
    static constexpr std::size_t looks_a_turn = 400;
    static constexpr std::size_t refunds_a_turn = 50;

    /// Notes of tokens that are passed: the caller looks up the window of each.
    static constexpr std::size_t passed_a_turn = 3000;

    enum class Aim : unsigned char {
        due,  ///< notes of tokens that are to be looked at, or that have outlived their windows
        all,  ///< all notes of tokens
    };

    struct Turn {
        std::size_t sets = 0;
        std::size_t looks = 0;
        std::size_t refunds = 0;
        std::size_t passed = 0;  ///< notes of tokens whose window has not ended
        bool tokens = false;     ///< notes of tokens were seen, due or not
    };

    bool idle() const noexcept { return slice_.empty(); }

    /// The next turn begins in this slice; what is left of the slice before is given up.
    void begin(const SharedWalk::Slice& slice) noexcept { slice_ = slice; }

    /// `deaths`: as is_due() has it. Calls fn(const Noted&), which returns a Looked, for what is found in the
    /// slice, and for each charge whose window has ended: without a lock, so fn may call the table. What a
    /// turn cannot do is left to the next. Before that calls see(const Seen&) for each record, also without a
    /// lock.
    template <typename See, typename Fn>
    Turn turn(DebtTable& table, Aim aim, Millis now, std::uint32_t deaths, See&& see, Fn&& fn) {
        Turn turn;
        while (!idle() && turn.sets < sets_a_turn && turn.looks + Found::most <= looks_a_turn &&
               turn.refunds + Found::most <= refunds_a_turn && turn.passed + Found::most <= passed_a_turn) {
            const Found found = find(table, slice_.next++, aim, now, deaths);
            for (std::size_t i = 0; i < found.seen_count; ++i) {
                see(found.seen.at(i));
                turn.passed += waits(found.seen.at(i).kind) ? 0 : 1;
            }
            ++turn.sets;
            turn.tokens = turn.tokens || found.tokens;
            for (std::size_t i = 0; i < found.count; ++i) {
                const Looked looked = fn(found.noted.at(i));
                turn.looks += looked != Looked::not_at_all ? 1 : 0;
                turn.refunds += looked == Looked::given_back ? 1 : 0;
            }
        }
        return turn;
    }

private:
    /// The finds in one set.
    struct Found {
        static constexpr std::size_t most = DebtTable::Set::capacity;

        std::array<Noted, most> noted;
        std::array<Seen, most> seen;
        std::size_t count = 0;
        std::size_t seen_count = 0;
        bool tokens = false;
    };

    static Found find(DebtTable& table, std::size_t set, Aim aim, Millis now, std::uint32_t deaths) noexcept;

    SharedWalk::Slice slice_;
};

/// Slots are looked at once in 900 milliseconds, and as soon as another worker has died: `deaths` have by
/// now. Tokens are looked at once in a lease_interval(), and four times as often when their window is about
/// to end; those of a bucket, which die soon, only when they have ended.
bool is_due(const DebtRecord& note, Millis now, std::uint32_t deaths) noexcept;

}  // namespace rate_limit
