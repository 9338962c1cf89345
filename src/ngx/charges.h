#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "core/window.h"
#include "ngx/log_throttle.h"
#include "ngx/node.h"

namespace rate_limit {

/// What one admitted request owes to one window.
struct Charge {
    std::string_view key;  ///< the window's Redis key; copied
    std::int64_t cost = 0;
    std::int64_t period = 0;
    WindowKind kind = WindowKind::first;
    Millis reset = 0;   ///< of the window found, or proposed, before the request
    bool open = false;  ///< the window was found open: a plain HINCRBY may do
};

/// The way of charges to one primary. Nobody waits for them.
///
/// A charge that could not be sent waits here, summed per window, and is sent while that window is open. One
/// that was sent and not answered is in doubt: it is counted and never sent again. So admitted - in doubt <=
/// stored <= admitted.
class Charges {
public:
    /// How many windows may have charges waiting, per primary and worker.
    static constexpr std::size_t max_waiting = 100'000;

    Charges(const StoreConf& store, Node& primary) noexcept : store_(store), primary_(primary) {}
    Charges(const Charges&) = delete;
    Charges& operator=(const Charges&) = delete;

    void charge(const Charge& charge) noexcept;

    /// The primary takes commands again: what waits is sent.
    void send_waiting() noexcept;

    /// Says how much is lost with this worker. The primary has been shut down.
    void log_lost() noexcept;

private:
    class ChargeCommand;
    struct Waiting {
        std::int64_t cost = 0;
        std::int64_t period = 0;
        WindowKind kind = WindowKind::first;
        Millis reset = 0;
    };

    void wait(const ChargeCommand& command) noexcept;
    void drop_closed(Millis now) noexcept;
    void drop(std::uint64_t count, const char* reason) noexcept;
    void doubt() noexcept;

    const StoreConf& store_;
    Node& primary_;
    std::unordered_map<std::string, Waiting> waiting_;
    std::uint64_t dropped_ = 0;
    std::uint64_t in_doubt_ = 0;
    LogThrottle drop_log_;
    LogThrottle doubt_log_;
};

}  // namespace rate_limit
