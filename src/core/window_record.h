#pragma once

#include <cstdint>

#include "core/window.h"

namespace rate_limit {

/// What a window's identity (store, name, period, window kind, key) is found by: a keyed 128-bit digest.
struct WindowId {
    std::uint64_t high = 0;
    std::uint64_t low = 0;

    friend bool operator==(const WindowId& a, const WindowId& b) noexcept {
        return a.high == b.high && a.low == b.low;
    }
    friend bool operator!=(const WindowId& a, const WindowId& b) noexcept { return !(a == b); }
};

/// Where the truth of a window is.
enum class Truth : std::uint8_t {
    local,  ///< here: the record is all there is
    redis,  ///< in Redis: the record is a copy, and may be forgotten
};

/// Names one window of one identity for as long as a request may run: the low half of the reset it was opened
/// with here. That stays when the truth names another reset for the same window; the next window's differs.
using Ticket = std::uint32_t;

/// One window as one machine remembers it: one cache line in shared memory, copied as a whole. Plain data.
struct WindowRecord {
    static constexpr std::uint32_t max_in_flight = (1U << 24) - 1;

    WindowRecord() noexcept : in_flight(0), truth(Truth::local), confirmed(false) {}

    WindowId id;
    Millis reset = 0;              ///< the window's end; 0: no window
    std::int64_t used = 0;         ///< as last confirmed by the truth
    std::int64_t limit = 0;        ///< as last seen: which records may be evicted depends on it
    std::int64_t undelivered = 0;  ///< charged here and not confirmed yet
    std::int64_t leased = 0;       ///< tokens granted to this machine and not spent
    Ticket ticket = 0;
    std::uint32_t in_flight : 24;  ///< requests admitted into this window that are not charged yet
    Truth truth : 4;
    bool confirmed : 1;  ///< false: the reset is this machine's proposal

    friend bool operator==(const WindowRecord& a, const WindowRecord& b) noexcept {
        return a.id == b.id && a.reset == b.reset && a.used == b.used && a.limit == b.limit &&
               a.undelivered == b.undelivered && a.leased == b.leased && a.ticket == b.ticket &&
               a.in_flight == b.in_flight && a.truth == b.truth && a.confirmed == b.confirmed;
    }
};
static_assert(sizeof(WindowRecord) == 64, "a record is one cache line");

}  // namespace rate_limit
