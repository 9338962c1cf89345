#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/limit/rate.h"
#include "t/world/events.h"

namespace rate_limit::simulated {

/// Microseconds of virtual time.
using world::Micros;

/// How requests are counted: a mode of the module, with `fresh auto` or without.
enum class Way : std::uint8_t { check_charge, check_charge_unfresh, charge_refund, lease };

constexpr Way all_ways[] = {Way::check_charge, Way::check_charge_unfresh, Way::charge_refund, Way::lease};

/// The name on the command line and in what is printed.
constexpr const char* name_of(Way way) noexcept {
    switch (way) {
        case Way::check_charge:
            return "check_charge";
        case Way::check_charge_unfresh:
            return "check_charge-fresh-off";
        case Way::charge_refund:
            return "charge_refund";
        default:
            return "lease";
    }
}

constexpr const char* mode_of(Way way) noexcept {
    return way == Way::check_charge_unfresh ? "check_charge" : name_of(way);
}

/// Never one request over the limit.
constexpr bool is_exact(Way way) noexcept {
    return way == Way::charge_refund || way == Way::lease;
}

/// Which machine a request goes to.
enum class Skew : std::uint8_t {
    uniform,   ///< any, each as likely
    harmonic,  ///< any, the i-th with the weight 1/i
    sticky,    ///< each client stays at one for `sticky_for`, and then goes to another
};

constexpr Micros sticky_for = 5'000'000;

/// A time that differs: fixed, and an exponential part on top. Microseconds.
struct Delay {
    double fixed = 0;
    double mean_of_rest = 0;
};

constexpr Micros micros_of(double seconds) noexcept {
    return static_cast<Micros>(seconds * 1e6);
}

/// From when until when, in seconds of the run.
struct Span {
    double from = 0;
    double until = 0;

    bool is_empty() const noexcept { return from == until; }
};

/// One scenario. Rates of requests are those of all machines together.
struct Setup {
    std::string name;
    std::size_t machines = 1;
    std::size_t workers = 1;  ///< on each machine
    std::size_t shards = 1;   ///< each a primary, and a replica where the way reads one
    Rate rate;                ///< the limit of each key
    double requests = 0;      ///< a second
    double seconds = 60;      ///< how long requests come
    std::size_t keys = 1;
    double zipf = 0;       ///< the exponent of the keys' popularity
    double hot_share = 0;  ///< part of all requests that goes to key 0, on top
    Skew skew = Skew::uniform;
    Delay response{20'000, 0};     ///< how long an admitted request takes ...
    double response_spread = 0.5;  ///< ... give or take that part of it
    Delay latency{200, 50};        ///< the network's, one way
    Delay lag{1000, 0};            ///< the replicas'
    Span cut;                      ///< replicas learn of nothing
    double clocks_apart = 0;       ///< milliseconds: each machine's clock is off by up to that, either way
    Span outage;                   ///< the primaries are away; they keep their data
    double kill_every = 0;  ///< seconds between two kills of a worker, every third one of a whole machine
    std::size_t records = 1000;  ///< that each machine's zone has room for
    unsigned seeds = 100;

    /// How many times the limit's own rate requests of the busiest key come; for the tables.
    double load = 0;

    bool has_faults() const noexcept { return !outage.is_empty() || kill_every != 0; }
};

/// A request that is given, rather than drawn: as of a schedule that real machines were sent too.
struct Arrival {
    Micros at = 0;  ///< since the start
    std::size_t machine = 0;
    std::uint32_t key = 0;
    Micros response = 0;  ///< how long it takes once it is admitted; 0: as long as others
};

}  // namespace rate_limit::simulated
