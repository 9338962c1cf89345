#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limiter/loop.h"
#include "limiter/worker.h"

namespace rate_limit {

/// Something that waits for its time, among Delays.
class Delay {
public:
    bool waiting() const noexcept { return place_ != 0; }

protected:
    Delay() = default;
    ~Delay() = default;
    Delay(const Delay&) = delete;
    Delay& operator=(const Delay&) = delete;

private:
    friend class Delays;

    /// Its time has come, and it does not wait any more.
    virtual void delay_passed() noexcept = 0;

    Msec due_ = 0;
    std::uint64_t number_ = 0;  // the smaller goes first, where two are due in one millisecond
    std::size_t place_ = 0;     // in the heap, counted from 1; 0: it does not wait
};

/// All that waits in one worker for a time of its own. One timer serves them, which keeps a worker that is to
/// end; and in one turn only so many go on, however many are due.
class Delays {
public:
    static constexpr WorkerPart part = WorkerPart::delays;

    /// In a turn of the event loop. A request that goes on takes some ten microseconds, and turns are a
    /// millisecond apart.
    static constexpr std::size_t most_a_turn = 24;

    Delays() = default;
    ~Delays() = default;
    Delays(const Delays&) = delete;
    Delays& operator=(const Delays&) = delete;

    /// It waits so many milliseconds from now on; it does not wait yet. False without memory.
    bool add(Delay& delay, Msec wait) noexcept;

    /// It waits no longer, and is not told.
    void remove(Delay& delay) noexcept;

    std::size_t count() const noexcept { return heap_.size(); }

private:
    static bool is_before(const Delay& a, const Delay& b) noexcept;
    void put(std::size_t place, Delay& delay) noexcept;
    void rise(std::size_t place, Delay& delay) noexcept;
    void sink(std::size_t place, Delay& delay) noexcept;
    void take_out(Delay& delay) noexcept;
    void let_pass() noexcept;
    void arm() noexcept;

    std::vector<Delay*> heap_;  // the first one is due first
    std::uint64_t added_ = 0;
    Timer timer_{this, [](void* self) noexcept { static_cast<Delays*>(self)->let_pass(); },
                 Timer::Worker::stays};  // while anything waits
};

}  // namespace rate_limit
