#include "bench/simulate/cells.h"

#include <utility>

namespace rate_limit::simulated {

namespace {

constexpr Rate small{100, 60};
constexpr Rate middle{10'000, 60};
constexpr Rate large{100'000, 60};
constexpr Rate hourly{5'000, 3600};
constexpr Rate large_hourly{100'000, 3600};

/// One key, at so many times its limit's rate, for a window or so.
Setup one_key(const char* name, std::size_t machines, const Rate& rate, double load, double seconds) {
    Setup setup;
    setup.name = name;
    setup.machines = machines;
    setup.rate = rate;
    setup.load = load;
    setup.requests = load * static_cast<double>(rate.limit) / static_cast<double>(rate.period);
    setup.seconds = seconds;
    return setup;
}

/// Many keys, each with its limit.
Setup many_keys(const char* name, std::size_t machines, double hot_share, double requests_a_machine) {
    Setup setup;
    setup.name = name;
    setup.machines = machines;
    setup.shards = 16;
    setup.rate = hourly;
    setup.keys = 1'000'000;
    setup.zipf = 0.8;
    setup.hot_share = hot_share;
    setup.requests = requests_a_machine * static_cast<double>(machines);
    setup.seconds = machines > 10 ? 20 : 60;  // six million requests, in an hour of a processor at most
    setup.records = 200'000;
    setup.seeds = machines > 10 ? 1 : 3;
    return setup;
}

/// `base` with one thing changed.
template <typename Change>
Setup with(Setup base, const char* name, Change&& change) {
    base.name = name;
    change(base);
    return base;
}

std::vector<Setup> make() {
    const Setup fleet = one_key("100 machines", 100, middle, 2, 61);
    const Setup few = one_key("10 machines", 10, middle, 2, 61);
    const Setup flood = one_key("10 machines", 10, middle, 50, 10);
    return {
        one_key("1 machine", 1, small, 2, 130),
        one_key("1 machine", 1, hourly, 2, 3700),
        one_key("1 machine", 1, large, 2, 61),
        one_key("10 machines", 10, small, 2, 130),
        one_key("10 machines", 10, hourly, 2, 3700),
        one_key("10 machines", 10, large, 2, 61),
        one_key("100 machines", 100, small, 2, 130),
        one_key("100 machines", 100, hourly, 2, 3700),
        one_key("100 machines", 100, large, 2, 61),
        flood,
        one_key("100 machines", 100, middle, 0.5, 61),
        fleet,
        one_key("100 machines", 100, middle, 50, 10),
        one_key("100 machines", 100, large_hourly, 50, 200),
        with(fleet, "responses of 2 s", [](Setup& setup) { setup.response.fixed = 2e6; }),
        with(fleet, "clients by 1/i", [](Setup& setup) { setup.skew = Skew::harmonic; }),
        with(fleet, "clients stay 5 s", [](Setup& setup) { setup.skew = Skew::sticky; }),
        with(flood, "replica 100 ms behind", [](Setup& setup) { setup.lag.fixed = 1e5; }),
        with(few, "replica cut off for 10 s",
             [](Setup& setup) {
                 setup.cut = Span{22, 32};
             }),
        with(fleet, "clocks up to 500 ms off", [](Setup& setup) { setup.clocks_apart = 500; }),
        with(few, "kills", [](Setup& setup) { setup.kill_every = 3; }),
        with(few, "primary away for 5 s",
             [](Setup& setup) {
                 setup.outage = Span{15, 20};
             }),
        many_keys("keys by Zipf 0.8", 10, 0, 3000),
        many_keys("keys by Zipf 0.8, one of 30%", 100, 0.3, 3000),
    };
}

}  // namespace

const std::vector<Setup>& cells() {
    static const std::vector<Setup> all = make();
    return all;
}

}  // namespace rate_limit::simulated
