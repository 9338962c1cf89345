#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "core/limit/window.h"
#include "ngx/base/lateness.h"
#include "ngx/base/ngx.h"
#include "ngx/base/timer.h"
#include "ngx/store/demand.h"
#include "ngx/wire/node.h"

namespace rate_limit {

class Attempt;
class Fetch;
struct Debt;
class Shard;

/// One read of one window, over as many nodes as it takes: a replica first; after each third of check_timeout
/// without an answer, and at once after a failure, also the next node. The first answer wins. Or one
/// reservation at the primary, which is never asked twice: what is granted to nobody, because it came too
/// late, is given back. Or a place in what Fetches fetch from there.
///
/// Lives in the waiting request. Its attempts belong to the nodes and may outlive it: cancel() lets go of
/// them.
class Check {
public:
    class Owner {
    public:
        /// The check has ended: see failed() and window(). May come from within start().
        virtual void on_checked(Check& check) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    Check() = default;
    ~Check() { cancel(); }
    Check(const Check&) = delete;
    Check& operator=(const Check&) = delete;

    /// `key`, the window's Redis key, stays valid until the check has ended or is cancelled. `of_primary`: no
    /// other node will do.
    void start(Shard& shard, std::string_view key, bool of_primary, Owner& owner) noexcept;

    /// Likewise. `demand` stays as long as `key`.
    void reserve(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept;

    /// Likewise; waits for tokens, of which it wants `demand.want`. The window it finds counts neither
    /// them nor what others have at hand.
    void lease(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept;

    /// Nobody waits any more. Answers that come later are read and dropped.
    void cancel() noexcept;

    /// Cancels it unless it has ended: what a reservation gets after its end may still be settled.
    void abandon() noexcept {
        if (owner_ != nullptr) {
            cancel();
        }
    }

    /// Null after an answer, else why there is none: text for a log line.
    const char* failure() const noexcept { return failure_; }

    /// As stored: closed and impossible windows included, {0, 0} for none.
    const Window& window() const noexcept { return window_; }

    /// What a reservation got, also after its end, as long as it is not cancelled: whoever takes it has to
    /// settle it.
    std::int64_t take_granted() noexcept { return std::exchange(granted_, 0); }

    /// The reservation has ended, and its answer may still come.
    bool unsettled() const noexcept;

    /// It was sent, and the connection ended before the answer.
    bool in_doubt() const noexcept { return in_doubt_; }

    /// Lets go of it as cancel() does; but what is granted later stays granted, as far as the request owes
    /// it, and what it owes beyond that is charged then. `owed` has been counted by the memory of the window.
    void keep(const Debt& owed) noexcept;

    /// Milliseconds from the start to the end.
    ngx_msec_t waited() const noexcept { return waited_; }

private:
    friend class Attempt;
    friend class Fetch;
    friend class Fetches;
    friend class Deadlines;

    static constexpr std::size_t max_attempts =
        3;  // in flight at a time: one for each third of check_timeout

    void begin(Shard& shard, std::string_view key, Owner& owner) noexcept;
    void ask_first() noexcept;
    bool ask_next() noexcept;
    void answered(Attempt& attempt, Node& node, const Reply& reply) noexcept;
    void lost(Attempt& attempt) noexcept;
    void late(Attempt& attempt, const Reply* reply) noexcept;
    void deadline_passed() noexcept;
    void release(Attempt& attempt) noexcept;
    void end(const char* failure) noexcept;

    Owner* owner_ = nullptr;
    Shard* shard_ = nullptr;
    std::string_view key_;
    bool of_primary_ = false;
    const Demand* demand_ = nullptr;  // null: it only reads
    std::int64_t granted_ = 0;
    bool in_doubt_ = false;
    std::array<Attempt*, max_attempts> attempts_{};
    Fetch* fetch_ = nullptr;  // that it has a place in
    ngx_queue_t place_{};
    ngx_queue_t link_{};  // in the deadlines' queue of stage_
    std::size_t stage_ = 0;
    ngx_msec_t started_ = 0;
    ngx_msec_t waited_ = 0;
    Window window_;
    const char* failure_ = nullptr;
};

/// The deadlines of one store's checks. All checks have the same timeout, so each stage's queue is sorted by
/// itself and one timer serves all.
class Deadlines {
public:
    class Owner {
    public:
        /// Something is overdue: reads the answers that lie in the sockets, for they are in time.
        virtual void read_now() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    Deadlines(ngx_msec_t check_timeout, Owner& owner) noexcept;
    Deadlines(const Deadlines&) = delete;
    Deadlines& operator=(const Deadlines&) = delete;

    void add(Check& check) noexcept;
    void remove(Check& check) noexcept;

private:
    static constexpr std::size_t stages = Check::max_attempts;

    static void on_timer(void* self) noexcept;
    void judge() noexcept;
    void pass(ngx_msec_t now) noexcept;
    void arm(ngx_msec_t now) noexcept;
    ngx_msec_t deadline(const Check& check) const noexcept;
    bool empty() const noexcept;
    bool is_overdue(ngx_msec_t now) const noexcept;

    const ngx_msec_t check_timeout_;
    Owner& owner_;
    Lateness lateness_;
    std::array<ngx_queue_t, stages> queues_{};
    Timer timer_{this, on_timer,
                 Timer::Worker::leaves};  // a leaving worker waits while a check does: check_timeout at most
};

}  // namespace rate_limit
