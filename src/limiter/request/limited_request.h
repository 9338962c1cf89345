#pragma once

#include <cstddef>
#include <cstdint>

#include "core/limit/decision.h"
#include "limiter/configuration.h"
#include "limiter/modes/mode.h"
#include "limiter/waits/delays.h"

namespace rate_limit {

/// One request and the limits that apply to it: how far it has come under each, and what was decided. Whoever
/// runs the limiter evaluates what the limits say of the request, adds them, and takes it through
/// decisions.h; it gives the memory, which lives as long as the request.
class LimitedRequest : private Answer::Owner, private Delay {
public:
    LimitedRequest(const LimitedRequest&) = delete;
    LimitedRequest& operator=(const LimitedRequest&) = delete;

    const Configuration& configuration() const noexcept { return configuration_; }
    OnError on_error() const noexcept { return on_error_; }

    // The limits that apply, in the order in which they were added.
    std::size_t count() const noexcept { return count_; }
    AppliedLimit& applied(std::size_t i) noexcept { return applied_[i]; }
    const AppliedLimit& applied(std::size_t i) const noexcept { return applied_[i]; }
    const Verdict* verdicts() const noexcept { return verdicts_; }

    /// Adds a limit that applies. There is room for it.
    AppliedLimit& add(const Limit& limit) noexcept;

    /// Takes out the limit that was added last, whose store has not been asked.
    void drop_last() noexcept { --count_; }

    /// Takes out all of them. None waits, nor is anything held.
    void forget_limits() noexcept { count_ = 0; }

    /// Asks the store of one limit. Where the cost never fits, it is asked only for the window that headers
    /// show.
    void ask(AppliedLimit& applied) noexcept;

    /// Asks the store of one limit, too, whether a penalty runs.
    void ask_penalty(AppliedLimit& applied) noexcept;

    /// Asks the store what a report needs: it is the only one that asks about these limits.
    void ask_for_report(AppliedLimit& applied) noexcept;

    /// Between these two calls the request is asking its stores: an answer that comes at once is not told.
    void begin_asking() noexcept { asking_ = true; }
    void end_asking() noexcept { asking_ = false; }

    /// For answers of its stores, or for its turn.
    bool waiting() const noexcept { return pending_ != 0 || Delay::waiting(); }

    /// Lets go of everything that it waits for.
    void stop_waiting() noexcept;

    /// It is let in, and waits for its turn by `delay=`, so many milliseconds from now on; it is told as of a
    /// last answer. False without memory.
    bool begin_delay(Msec wait) noexcept;

    /// It has stopped waiting before its turn had come.
    bool has_left_queue() const noexcept { return left_queue_; }

    /// Milliseconds that it waited for its turn, or has until now, since the last begin_delay().
    Msec delayed() const noexcept { return (Delay::waiting() ? msec_now() : turn_) - delay_began_; }

    /// Gives back what the request holds of its limits: none of them charges it. `left`: its client has left,
    /// and a place in a queue goes back only as the last one.
    void give_back_all(bool left = false) noexcept;

    /// The response has been sent, or the request ends: lets go of the slots that it holds. May be called
    /// again.
    void leave_all() noexcept;

    /// Milliseconds that the request waited for its stores: each time as long as its slowest limit took.
    Msec store_time() const noexcept { return store_time_; }
    void end_wait() noexcept;

    /// The limit could not be checked: told before rate_limit_on_error decides. `reason` is static text.
    virtual void on_unchecked(const AppliedLimit& applied, const char* reason) noexcept = 0;

    /// The id by which operators know the client; see limiter/client_id.h.
    virtual std::uint64_t id_of(const AppliedLimit& applied) const noexcept = 0;

    /// Milliseconds by `delay=`, as decided: the longest of its limits', of both phases together. Also of
    /// limits in a dry run, for which nothing waits.
    Millis delay = 0;

    Outcome outcome = Outcome::none;
    bool settled = false;  ///< it holds nothing more: charge_due() has run, or give_back_all()
    bool counted = false;  ///< count_request() has run

protected:
    LimitedRequest(const Configuration& configuration, OnError on_error) noexcept
        : configuration_(configuration), on_error_(on_error) {}
    ~LimitedRequest() = default;

    /// The memory for as many limits as may be added.
    void give_room(AppliedLimit* applied, Verdict* verdicts) noexcept {
        applied_ = applied;
        verdicts_ = verdicts;
    }

    /// It waits no longer: the last answer is there, or has failed to come; or its turn has come.
    virtual void on_wait_over() noexcept = 0;

private:
    void on_answer(Answer& answer) noexcept override;
    void delay_passed() noexcept override;

    const Configuration& configuration_;
    const OnError on_error_;
    AppliedLimit* applied_ = nullptr;
    Verdict* verdicts_ = nullptr;
    std::size_t count_ = 0;
    std::size_t pending_ = 0;
    bool has_slots_ = false;  // one of the limits counts requests that run
    bool asking_ = false;
    bool left_queue_ = false;
    Msec delay_began_ = 0;
    Msec turn_ = 0;     // when its turn came, or it left
    Msec longest_ = 0;  // longest wait for an answer since end_wait()
    Msec store_time_ = 0;
};

}  // namespace rate_limit
