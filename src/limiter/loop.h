#pragma once

#include <cstddef>
#include <cstdint>

#include "core/limit/window.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

// Services that the limiter needs from whoever runs it: clocks, chance, the fate of the process, log lines,
// timers. nginx's side of it is ngx/base/loop.cpp, that of tests t/world/loop.cpp. It is bound when the
// program is linked, so that a request pays for no indirection.

/// Milliseconds of a clock that never goes back and that all processes of a machine share. It overflows as
/// unsigned numbers do: compare differences.
using Msec = std::uintptr_t;
using MsecDifference = std::intptr_t;

/// That clock, as of this turn of the event loop.
Msec msec_now() noexcept;

/// msec_now() modulo 2^32.
inline std::uint32_t ticks_now() noexcept {
    return static_cast<std::uint32_t>(msec_now());
}

/// ticks_now(), but read now: the turn may have been long, or the process was stopped in it. Never before
/// ticks_now().
std::uint32_t fresh_ticks() noexcept;

/// Nanoseconds of a clock that nobody sets, read now.
std::int64_t steady_nanos() noexcept;

/// UTC, as of this turn of the event loop.
Millis now_millis() noexcept;

/// Microseconds, UTC, read now.
std::int64_t micros_now() noexcept;

/// 31 random bits. Good enough to spread what would else come at once; not for secrets.
std::uint32_t random_bits() noexcept;

/// Fills it with bytes that nobody can guess. False: there are none.
bool random_bytes(unsigned char* bytes, std::size_t count) noexcept;

/// The process ends as soon as nothing keeps it: it begins nothing that others would have to finish.
bool is_leaving() noexcept;

/// Number of this process among its likes, from 0 on; a process that replaces another one may have its
/// number.
std::size_t number_of_worker() noexcept;

/// How many connections this process can have, to clients and servers.
std::size_t most_connections() noexcept;

/// This process as the owner of locks in shared memory, and how it finds out whether another one lives.
LockUser lock_user() noexcept;

/// The process id of the one that started this one, which uses the same shared memory and does nothing in it.
std::uint32_t parent_pid() noexcept;

enum class LogLevel : unsigned char { alert, error, warn, notice, info, debug };

/// The log for a line that a request has led to: it may add what tells the request from others. Whoever runs
/// the limiter defines it.
struct Log;

/// The log of the process.
Log& process_log() noexcept;

/// Writes a line of at most 2,000 bytes; what is longer is cut. `format` is printf's.
[[gnu::format(printf, 3, 4)]] void log_line(Log& log, LogLevel level, const char* format, ...) noexcept;

/// Memory that lives as long as one request. Whoever runs the limiter defines it.
struct RequestMemory;

/// Null: there is no memory.
char* allocate(RequestMemory& memory, std::size_t size) noexcept;

/// Timers fire at their millisecond, unless the loop is busy. False: they may fire much later, and are looked
/// at when something else happens.
bool has_exact_timers() noexcept;

/// One timer of the event loop. It calls its owner once, when its time has come. It is cleared when it is
/// destroyed, so an owner of static storage, which is destroyed after the loop's own timers, must never be
/// destroyed.
class Timer {
public:
    using Callback = void (*)(void* owner) noexcept;

    /// Whether a process that is to end stays while the timer is armed.
    enum class Worker : unsigned char { stays, leaves };

    Timer(void* owner, Callback callback, Worker worker) noexcept;
    ~Timer() { clear(); }
    Timer(const Timer&) = delete;
    Timer& operator=(const Timer&) = delete;

    /// Lets it fire `wait` milliseconds from now, and not at the time it was set to before.
    void set(Msec wait) noexcept;

    /// Lets it fire at the end of this turn of the event loop.
    void set_to_end_of_turn() noexcept;

    void clear() noexcept;

    bool armed() const noexcept;

    /// When it fires or fired, in terms of msec_now(). It has been set.
    Msec due() const noexcept { return due_; }

    /// True stands for Worker::stays. Also for an armed timer.
    void keep_worker(bool keeps) noexcept;
    bool keeps_worker() const noexcept;

    /// The loop's own part of a timer. Whoever runs the limiter defines it, and checks that it fits.
    struct Event;

private:
    Event& event() noexcept { return *reinterpret_cast<Event*>(event_); }
    const Event& event() const noexcept { return *reinterpret_cast<const Event*>(event_); }

    // Aligned as a pool of nginx aligns, where objects with timers lie, and no more.
    alignas(void*) unsigned char event_[160];
    void* const owner_;
    const Callback callback_;
    Msec due_ = 0;
};

}  // namespace rate_limit
