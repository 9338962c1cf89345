#pragma once

#include <array>
#include <string_view>

#include "core/window.h"
#include "ngx/ngx.h"
#include "ngx/node.h"

namespace rate_limit {

class Attempt;
class Shard;
class Store;

/// One read of one window, over as many nodes as it takes: a replica first; after each third of check_timeout
/// without an answer, and at once after a failure, also the next node. The first answer wins.
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

    /// Nobody waits any more. Answers that come later are read and dropped.
    void cancel() noexcept;

    /// True once started, also after the end.
    bool asked() const noexcept { return shard_ != nullptr; }

    /// Null after an answer, else why there is none: text for a log line.
    const char* failure() const noexcept { return failure_; }

    /// As stored: closed and impossible windows included, {0, 0} for none.
    const Window& window() const noexcept { return window_; }

    /// Milliseconds from the start to the end.
    ngx_msec_t waited() const noexcept { return waited_; }

private:
    friend class Attempt;
    friend class CheckDeadlines;

    static constexpr std::size_t max_attempts =
        3;  // in flight at a time: one for each third of check_timeout

    bool ask_next() noexcept;
    void answered(Attempt& attempt, Node& node, const Reply& reply) noexcept;
    void lost(Attempt& attempt) noexcept;
    void deadline_passed() noexcept;
    void release(Attempt& attempt) noexcept;
    void end(const char* failure) noexcept;

    Owner* owner_ = nullptr;
    Shard* shard_ = nullptr;
    std::string_view key_;
    bool of_primary_ = false;
    std::array<Attempt*, max_attempts> attempts_{};
    ngx_queue_t link_{};  // in the deadlines' queue of stage_
    std::size_t stage_ = 0;
    ngx_msec_t started_ = 0;
    ngx_msec_t waited_ = 0;
    Window window_;
    const char* failure_ = nullptr;
};

/// The deadlines of one store's checks. All checks have the same timeout, so each stage's queue is sorted by
/// itself and one timer serves all.
class CheckDeadlines {
public:
    explicit CheckDeadlines(ngx_msec_t check_timeout) noexcept;
    ~CheckDeadlines() { clear_timer(timer_); }
    CheckDeadlines(const CheckDeadlines&) = delete;
    CheckDeadlines& operator=(const CheckDeadlines&) = delete;

    void add(Check& check) noexcept;
    void remove(Check& check) noexcept;

private:
    static constexpr std::size_t stages = Check::max_attempts;

    static void on_timer(ngx_event_t* event) noexcept;
    void pass(ngx_msec_t now) noexcept;
    void arm(ngx_msec_t now) noexcept;
    ngx_msec_t deadline(const Check& check) const noexcept;
    bool empty() const noexcept;

    const ngx_msec_t check_timeout_;
    std::array<ngx_queue_t, stages> queues_{};
    ngx_event_t timer_{};  // holds a leaving worker while a check waits: for check_timeout at most
};

}  // namespace rate_limit
