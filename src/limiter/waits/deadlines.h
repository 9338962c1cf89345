#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "core/queue.h"
#include "limiter/loop.h"

namespace rate_limit {

/// Something that stands in a queue of Deadlines.
class Deadline : public Place<Deadline> {
protected:
    Deadline() = default;
    ~Deadline() = default;
    Deadline(const Deadline&) = delete;
    Deadline& operator=(const Deadline&) = delete;

    /// It is late. It takes itself out of its queue before this returns.
    virtual void deadline_passed() noexcept = 0;

private:
    friend class Deadlines;

    Msec started_ = 0;  // put_off_ later than it did
    Msec put_off_ = 0;  // 0: this worker has not excused it
};

/// The deadlines of all that waits for one store. There is a queue for check_timeout and one for each of some
/// shorter times: everything waits for as long as its queue says, so each queue is sorted. One timer serves
/// all queues. A deadline that is overdue when this worker was late itself is put off, once: it goes on as if
/// it had started later.
class Deadlines {
public:
    /// The number of a queue. But for `whole`, it is that of core/wait_steps.h.
    using Wait = std::size_t;

    /// That of check_timeout.
    static constexpr Wait whole = 0;

    class Owner {
    public:
        /// Something is overdue: reads the answers that lie in the sockets, for they are in time.
        virtual void read_now() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    Deadlines(Msec check_timeout, Owner& owner) noexcept;
    Deadlines(const Deadlines&) = delete;
    Deadlines& operator=(const Deadlines&) = delete;

    /// The wait of at least so many milliseconds; none: check_timeout is over before.
    std::optional<Wait> wait_of(Msec least) const noexcept;

    /// The longest wait of at most so many milliseconds, or the shortest one, of 2 ms; none as in wait_of().
    std::optional<Wait> wait_within(Msec most) const noexcept;

    Msec check_timeout() const noexcept { return waits_[whole]; }

    /// It starts to wait now.
    void start(Deadline& deadline, Wait wait) noexcept;

    /// It waits no longer. Returns how long it did.
    Msec remove(Deadline& deadline) noexcept {
        Waiting::remove(deadline);
        if (--waiting_ == 0) {
            timer_.clear();  // it would wake the worker for nothing
        }
        return msec_now() - deadline.started_ + deadline.put_off_;
    }

private:
    using Waiting = Queue<Deadline>;
    static constexpr std::size_t waits = 24;

    std::optional<Wait> if_shorter(Wait wait) const noexcept;
    void judge() noexcept;
    void put_off(Msec now, Msec most) noexcept;
    void pass(Msec now) noexcept;
    void arm(Msec now) noexcept;
    MsecDifference left(Wait wait, const Deadline& deadline, Msec now) const noexcept;
    bool is_overdue(Msec now) const noexcept;

    Owner& owner_;
    std::array<Waiting, waits> queues_;
    std::array<Msec, waits> waits_;  // how long after the start each queue's deadlines are
    std::size_t waiting_ = 0;        // in all queues
    Timer timer_{this, [](void* self) noexcept { static_cast<Deadlines*>(self)->judge(); },
                 Timer::Worker::stays};  // while anything waits
};

}  // namespace rate_limit
