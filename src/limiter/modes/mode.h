#pragma once

#include "limiter/kinds/window.h"

namespace rate_limit {

/// One way of counting requests against a limit, in one kind of store. A request goes through it from top to
/// bottom: recall → ask → admit → settle (or leave_queue) → leave. Stateless; chosen for each limit of a
/// request when its store is known. The modes stand in mode.cpp, one line each.
///
/// Defaults fit a limit whose store is not known, or that needs none: nothing is asked, held or charged.
class Mode {
public:
    explicit constexpr Mode(const Kind& kind) noexcept : kind_(kind) {}
    Mode(const Mode&) = delete;
    Mode& operator=(const Mode&) = delete;

    /// The kind that it counts by.
    const Kind& kind() const noexcept { return kind_; }

    /// The request's cost is part of what admits it, so it has to be known before.
    virtual bool needs_cost() const noexcept { return false; }

    /// The limit counts by a token bucket: changes it where the mode needs another one.
    virtual void fit_bucket(AppliedLimit& /*applied*/) const noexcept {}

    /// Looking at what this machine remembers may well spare asking the store. `alone`: no other limit
    /// applies to the request.
    virtual bool recalls_first(const AppliedLimit& /*applied*/, bool /*alone*/) const noexcept {
        return false;
    }

    /// Looks at what this machine remembers. Where that decides, the verdict gets the window. Called again
    /// when the store was asked and failed: it may admit then, and begins no question.
    virtual Recalled recall(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {
        return Recalled::nothing;
    }

    /// Asks the store, whose answer `owner` is told of. Not called where the limit has no shard.
    virtual void ask(AppliedLimit& /*applied*/, Answer::Owner& /*owner*/) const noexcept {}

    /// The store has answered, or has failed to; a local limit is its own store. Unless `unchecked` the
    /// verdict gets the window as it was before this request.
    virtual Admission admit(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {
        return Admission::unchecked;
    }

    /// The limit could not be checked, and the request passes all the same.
    virtual void enter_anyway(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {}

    /// The request is settled with the limit, which charges it `due` in all; 0: all that it holds is given
    /// back.
    virtual void settle(AppliedLimit& /*applied*/, std::int64_t /*due*/, Millis /*now*/) const noexcept {}

    /// It leaves before its turn has come by `delay=`: gives back what it holds, or nothing where others have
    /// taken their places behind it. Returns what stays charged, as far as this machine knows.
    virtual std::int64_t leave_queue(AppliedLimit& applied, Millis now) const noexcept {
        settle(applied, 0, now);
        return 0;
    }

    /// The request ends: it lets go of the slot that it holds to its end. Not called where none of its limits
    /// counts requests that run.
    virtual void leave(AppliedLimit& /*applied*/, Millis /*now*/) const noexcept {}

protected:
    ~Mode() = default;

private:
    const Kind& kind_;
};

class Uncounted final : public Mode {
public:
    constexpr Uncounted() noexcept : Mode(windows_kind) {}
};

inline constexpr Uncounted uncounted;

/// The store was asked and has not answered. The request is refused if this machine knows that the limit is
/// reached.
Admission without_answer(AppliedLimit& applied, Millis now) noexcept;

/// Why a limit cannot count in a store with regions, and the remedy: text that "rate_limit" goes before.
/// Null: it can.
const char* why_not_over_regions(const Limit& limit) noexcept;

}  // namespace rate_limit
