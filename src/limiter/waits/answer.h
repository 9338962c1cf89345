#pragma once

#include <cstdint>
#include <utility>

#include "core/limit/window.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/loop.h"
#include "limiter/turn_clock.h"
#include "limiter/waits/deadlines.h"

namespace rate_limit {

/// A store's word on one window, for which a request waits check_timeout at most. It lives in the request;
/// commands sent for it may outlive it.
class Answer : private Deadline {
public:
    class Owner {
    public:
        /// The wait is over: see failure() and window(). May come from within the call that began it.
        virtual void on_answer(Answer& answer) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    bool waiting() const noexcept { return owner_ != nullptr; }

    /// The owner is not told any more, and an answer that comes later is dropped, or given back.
    virtual void cancel() noexcept = 0;

    /// Cancels it if it still waits.
    void abandon() noexcept {
        if (waiting()) {
            cancel();
        }
    }

    /// Null after an answer, else why there is none: text for a log line.
    const char* failure() const noexcept { return failure_; }

    /// The window as stored: closed and impossible ones included, {0, 0} for none.
    const Window& window() const noexcept { return window_; }

    /// Milliseconds from the begin to the end.
    Msec waited() const noexcept { return waited_; }

protected:
    /// Why there is none: the end of check_timeout. An array, whose address is the same in every source.
    static constexpr char too_late[] = "no answer in check_timeout";

    Answer() = default;
    ~Answer() = default;

    /// `counters` are those of the shard that is asked; null: the wait is counted elsewhere.
    void begin(Deadlines& deadlines, ShardCounters* counters, Owner& owner) noexcept {
        deadlines_ = &deadlines;
        counters_ = counters;
        owner_ = &owner;
        began_ = TurnClock::micros();
        deadlines.start(*this, Deadlines::whole);
    }

    /// For how many microseconds it has waited at `now`, by TurnClock.
    std::uint64_t waited_micros(std::uint64_t now) const noexcept { return now - began_; }

    /// Stops waiting; the owner is not told.
    void stop() noexcept {
        owner_ = nullptr;
        waited_ = deadlines_->remove(*this);
    }

    /// Stops waiting and tells the owner, who may destroy this object.
    void end(const char* failure) noexcept {
        Owner* owner = owner_;
        failure_ = failure;
        if (counters_ != nullptr && (failure == nullptr || failure == too_late)) {
            counters_->add_wait(TurnClock::micros() - began_);
        }
        stop();
        owner->on_answer(*this);
    }

    Window window_;

private:
    Owner* owner_ = nullptr;
    Deadlines* deadlines_ = nullptr;
    ShardCounters* counters_ = nullptr;
    std::uint64_t began_ = 0;  // by TurnClock
    const char* failure_ = nullptr;
    Msec waited_ = 0;
};

/// An answer that brings a part of the limit: the request that takes it must settle it or give it back.
class Grant : public Answer {
public:
    /// The grant, once; then 0.
    std::int64_t take_granted() noexcept { return std::exchange(granted_, 0); }

    /// It was sent, and nobody knows whether it counts: no answer came, or one of a former primary, or one
    /// that says so.
    bool in_doubt() const noexcept { return in_doubt_; }

protected:
    Grant() = default;
    ~Grant() = default;

    std::int64_t granted_ = 0;
    bool in_doubt_ = false;
};

}  // namespace rate_limit
