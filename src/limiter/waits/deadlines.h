#pragma once

#include <array>
#include <cstddef>

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

/// The deadlines of all that waits for one store: each is a part of check_timeout after its start. Everything
/// enters a given queue after the same time of waiting, so each queue is sorted. One timer serves all queues.
/// A deadline that is overdue when this worker was late itself is put off, once: it goes on as if it had
/// started later.
class Deadlines {
public:
    /// Each stage has a queue. A read passes through three; what has one deadline has a queue of its own,
    /// because it enters that at once.
    enum class Stage : unsigned char { first_third, second_third, last_third, whole };

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

    /// It starts to wait now.
    void start(Deadline& deadline, Stage stage) noexcept {
        deadline.started_ = msec_now();
        deadline.put_off_ = 0;
        add(deadline, stage);
    }

    /// It goes on to another stage; the time of its start stays.
    void move(Deadline& deadline, Stage stage) noexcept {
        Waiting::remove(deadline);
        --waiting_;
        add(deadline, stage);
    }

    /// It waits no longer. Returns how long it did.
    Msec remove(Deadline& deadline) noexcept {
        Waiting::remove(deadline);
        timer_.keep_worker(--waiting_ != 0);
        return msec_now() - deadline.started_ + deadline.put_off_;
    }

private:
    using Waiting = Queue<Deadline>;
    static constexpr std::size_t stages = static_cast<std::size_t>(Stage::whole) + 1;

    void add(Deadline& deadline, Stage stage) noexcept;
    void judge() noexcept;
    void put_off(Msec now, Msec most) noexcept;
    void pass(Msec now) noexcept;
    void arm(Msec now) noexcept;
    MsecDifference left(std::size_t stage, const Deadline& deadline, Msec now) const noexcept;
    bool is_overdue(Msec now) const noexcept;

    Owner& owner_;
    std::array<Waiting, stages> queues_;
    std::array<Msec, stages> waits_;  // how long after the start each queue's deadlines are
    std::size_t waiting_ = 0;         // in all queues
    Timer timer_{this, [](void* self) noexcept { static_cast<Deadlines*>(self)->judge(); },
                 Timer::Worker::stays};  // while anything waits
};

}  // namespace rate_limit
