#pragma once

#include <cstdint>
#include <optional>

#include "core/machine/records.h"
#include "limiter/charges/charges.h"
#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// Whether a request may pass under one limit.
enum class Admission : unsigned char {
    admitted,   ///< and it holds its part of the window until it is settled
    refused,    ///< the limit is reached
    unchecked,  ///< nobody can say; AppliedLimit::failure tells why
};

/// A window that a key may have, of any kind, while no request is there.
struct KeyWindow {
    Rate rate;                     ///< the greatest limit of the period
    std::optional<Bucket> bucket;  ///< empty: no bucket counts
    WindowKind kind = WindowKind::first;
    const NamedKind* named = nullptr;  ///< never null once it is found
    WindowPlace place;

    std::int64_t limit() const noexcept { return bucket ? bucket->burst() : rate.limit; }
    Nanos token() const noexcept { return bucket ? bucket->token() : 0; }
    ReadAs read_as() const noexcept { return {kind, bucket ? bucket->fill() : 0}; }

    /// The cost of waiting charges, which a shard counts by what they owe.
    std::int64_t cost_of(std::int64_t owed) const noexcept { return bucket ? owed / token() : owed; }

    GivingBack giving_back(std::int64_t cost, Millis reset) const noexcept {
        return {place.id, rate, kind, cost, reset, token(), read_as().fill};
    }

    bool is_open(const Window& window, Millis now) const noexcept {
        constexpr std::int64_t longest = max_fill / 1'000'000'000;  // limits of larger bursts may share it
        return rate_limit::is_open(window, bucket ? longest : rate.period, now);
    }
};

/// A window as this machine's record of it says.
struct Remembered {
    Window window;
    std::int64_t in_flight = 0;  ///< requests of this machine
    std::int64_t tokens = 0;     ///< at hand; the window's `used` counts them
};

/// Kinds are what limits count by: windows, token buckets or slots of running requests; and what this machine
/// remembers of one, whichever mode counts. Each function is one or two steps under the lock of one record;
/// nothing here waits. Stateless.
class Kind {
public:
    constexpr Kind() = default;
    Kind(const Kind&) = delete;
    Kind& operator=(const Kind&) = delete;

    /// Lets the request in, if that `need`s no more than is left, by what this machine remembers: its store
    /// does not answer.
    virtual Admission enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept = 0;

    /// Takes in the answer for a request that is refused whatever it says. The verdict gets that window.
    virtual void take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept = 0;

    /// The verdict gets the window that is remembered. False: none is open, as far as its store has said.
    virtual bool show_remembered(AppliedLimit& applied, Millis now) const noexcept = 0;

    /// The verdict gets the remembered window of a request that this limit rejects: the reset is when it may
    /// pass. False as above.
    virtual bool show_refusal(AppliedLimit& applied, Millis now) const noexcept {
        return show_remembered(applied, now);
    }

    // Reports and operators see windows by these, and give back. Defaults fit a kind that shows them none.

    /// Whether the primary has told this machine of the window within the last second, so that a report need
    /// not ask. Always true of a local window.
    virtual bool is_known(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept { return true; }

    /// The verdict gets the window as a report shows it: what is remembered, with this answer taken in if it
    /// is not null; where no window is open, the one that would be proposed. Nothing is changed here.
    virtual void show_unchanged(AppliedLimit& /*applied*/, const Window* /*answer*/,
                                Millis /*now*/) const noexcept {}

    /// The window of a key as this machine's record of it says.
    virtual Remembered remembered(const KeyWindow& /*of*/, const Record& /*record*/,
                                  Millis /*now*/) const noexcept {
        return {};
    }

    /// The window that an answer of its store shows.
    virtual Window shown(const KeyWindow& /*of*/, const Window& /*answer*/, Millis /*now*/) const noexcept {
        return {};
    }

    /// Gives the cost back to this machine's record, if there is one: it was as `before` says, and is as
    /// `after` says.
    virtual void give_back(const KeyWindow& /*of*/, WindowTable& /*table*/, std::int64_t /*cost*/,
                           Window& /*before*/, Window& /*after*/) const noexcept {}

protected:
    ~Kind() = default;
};

/// Puts the window into the verdict.
void show(AppliedLimit& applied, const Window& window) noexcept;

/// To what the cost of pending requests belongs that may end in a penalty: a window by its end, a bucket by
/// the time in which it is filled once, since what was taken before has come back.
struct PendingSpan {
    std::uint32_t mark;
    Millis end;
};
PendingSpan span_of(const AppliedLimit& applied, Millis now) noexcept;

/// True if Redis has lately said that the limit is reached. May be true of other windows, by chance.
bool may_be_used_up(const AppliedLimit& applied) noexcept;

/// Makes later requests look at the record before they ask.
void note_used_up(AppliedLimit& applied, Millis now) noexcept;

}  // namespace rate_limit
