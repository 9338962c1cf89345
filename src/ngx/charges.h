#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/backoff.h"
#include "core/window.h"
#include "ngx/log_throttle.h"
#include "ngx/node.h"
#include "ngx/report.h"
#include "ngx/waiting.h"

namespace rate_limit {

struct Reservation;

/// What one admitted request owes to one window.
struct Charge {
    std::string_view key;  ///< the window's Redis key; copied
    Owed owed;
    bool open = false;  ///< Redis has said that the window is open: a plain HINCRBY may do
};

/// The way of charges to one primary. Nobody waits for them.
///
/// A charge that could not be sent, or that the primary refused, waits, summed per window, and is sent while
/// that window is open. One that was sent and not answered is in doubt: it is counted and never sent again.
/// So admitted - in doubt <= stored <= admitted. What the primary answers goes into the memory of windows.
///
/// A primary that refuses writes (OOM, READONLY, MISCONF, NOREPLICAS) still answers checks: it stays usable,
/// and only charges pause, with one of them sent as a probe at a time, on a backoff of their own.
class Charges {
public:
    /// How many of those that wait are sent at once: the next when these are answered, so that a primary that
    /// comes back is not flooded, nor the event loop held up.
    static constexpr std::size_t max_batch = 1000;

    /// `shard` is its name.
    Charges(const StoreConf& store, std::string_view shard, Node& primary, Report& report) noexcept;
    ~Charges() { clear_timer(retry_); }
    Charges(const Charges&) = delete;
    Charges& operator=(const Charges&) = delete;

    void charge(const Charge& charge) noexcept;

    /// Gives back what was reserved in the window of this reset. Waits where charges wait.
    void refund(std::string_view key, const Reservation& reservation, std::int64_t cost,
                Millis reset) noexcept;

    /// The memory of the window does not wait for an answer to these any more.
    void settle(const Owed& owed) noexcept;

    /// They were sent, and nobody knows whether they are stored.
    void doubt(const Owed& owed) noexcept;

    /// A reservation was sent and not answered: clients may have been charged for nothing.
    void doubt_reservation() noexcept;

    /// Sends what waits, as far as the primary takes it now.
    void send_waiting() noexcept;

    /// No charge waits longer for its answer.
    Millis patience() const noexcept { return static_cast<Millis>(store_.charge_timeout) + 1000; }

    /// What is known of a window when the primary is asked about it; `events` as its record has them.
    Question question(const WindowId& id, std::uint32_t events) const noexcept {
        return {events, waiting_.cost_of(id), patience()};
    }

    std::size_t under_way() const noexcept { return under_way_; }      ///< commands that have not ended
    std::size_t waiting() const noexcept { return waiting_.count(); }  ///< windows, of all workers
    std::uint64_t dropped() const noexcept { return dropped_; }        ///< charges since the worker started
    std::uint64_t in_doubt() const noexcept { return in_doubt_; }      ///< likewise
    std::uint64_t reservations_in_doubt() const noexcept { return reservations_in_doubt_; }
    std::uint64_t refunds_in_doubt() const noexcept { return refunds_in_doubt_; }

    /// Says what is lost with this worker. The primary has been shut down.
    void log_lost() noexcept;

private:
    class ChargeCommand;

    static void on_retry(ngx_event_t* event) noexcept;

    void wait(const std::string& key, Owed owed) noexcept;
    void pause(const char* reason) noexcept;
    void taken() noexcept;
    void batched_ended() noexcept;
    void drop_closed(Millis now) noexcept;
    void drop(const Owed& owed, const char* reason) noexcept;
    void confirm(const Owed& owed, const Window& answer) noexcept;
    void log_doubt(const char* what, std::uint64_t count, std::uint64_t so_far, const char* verdict) noexcept;

    const StoreConf& store_;
    Node& primary_;
    Report& report_;
    WaitingCharges waiting_;
    std::size_t batched_ = 0;  // commands of the present batch that are not answered
    std::size_t under_way_ = 0;
    bool paused_ = false;
    Backoff backoff_;
    Millis swept_ = 0;  // when closed windows were last looked for
    std::uint64_t dropped_ = 0;
    std::uint64_t in_doubt_ = 0;
    std::uint64_t reservations_in_doubt_ = 0;
    std::uint64_t refunds_in_doubt_ = 0;
    LogThrottle pause_log_;
    bool pause_logged_ = false;  // its end is to be logged too: one line for each of its lines
    LogThrottle drop_log_;
    LogThrottle doubt_log_;
    ngx_event_t retry_{};  // cancelable: what waits does not hold a leaving worker
};

}  // namespace rate_limit
