#include "t/worlds/traffic_plan.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace rate_limit::world {

namespace {

void draw_rate(LimitSetup& limit, Chance& chance) {
    if (limit.running) {
        limit.rate = std::to_string(chance.between(1, 10));
    } else if (limit.burst != 0) {
        const bool slow =
            limit.rate.find("r/10s") != std::string::npos || limit.rate.find("r/m") != std::string::npos;
        limit.rate = std::to_string(chance.between(1, 50)) + (slow ? "r/m" : "r/s");
        limit.burst = chance.between(1, 100);
    } else {
        const std::int64_t most = chance.percent(50) ? chance.between(1, 20) : chance.between(20, 2000);
        const bool lasts = limit.rate.empty() || limit.rate.find("r/h") != std::string::npos;
        limit.rate = std::to_string(most) + (lasts ? "r/h" : "r/10s");
    }
}

LimitSetup draw_limit(Chance& chance, const std::vector<StoreSetup>& stores) {
    constexpr std::array<const char*, 3> modes{"check_charge", "charge_refund", "lease"};
    LimitSetup limit;
    const std::int64_t kind = chance.below(6);
    limit.store = chance.percent(90) ? chance.one_of(stores).name : "local";
    limit.mode = chance.one_of(modes);
    limit.running = kind == 5;
    if (kind == 4) {
        limit.mode = chance.percent(50) ? "charge_refund" : "lease";
        limit.burst = 1;
    }
    // Windows outlast the world but for some: what is stored can be compared with what was admitted.
    limit.rate = chance.percent(80) ? "r/h" : "r/10s";
    if (!limit.running && limit.burst == 0 && chance.percent(10)) {
        limit.window = "clock";
    }
    limit.lease = chance.percent(70) ? lease_auto : static_cast<std::uint64_t>(chance.between(1, 50));
    draw_rate(limit, chance);
    return limit;
}

}  // namespace

TrafficPlan::TrafficPlan(Chance chance, const std::vector<StoreSetup>& stores, Micros lasts) {
    const std::int64_t count = chance.percent(60) ? 1 : chance.between(2, 3);
    for (std::int64_t i = 0; i < count; ++i) {
        limits.push_back(draw_limit(chance, stores));
        limits.back().name = "l" + std::to_string(i);
    }
    on_error = static_cast<OnError>(chance.below(3));
    arrivals = chance.percent(60)   ? Arrivals::steady
               : chance.percent(50) ? Arrivals::bursts
                                    : Arrivals::closed;
    at_once = chance.between(2, 50);
    pause = chance.one_of(std::array<Micros, 4>{500, 2'000, 10'000, 100'000});
    longest = chance.one_of(std::array<Micros, 3>{1'000, 50'000, 2'000'000});
    keys = chance.percent(50) ? chance.between(1, 3) : chance.between(1, 100);
    skewed = chance.percent(30);
    most_cost = chance.percent(70) ? 1 : 5;
    aborted = chance.percent(50) ? 0 : 10;
    exempt = chance.percent(50) ? 0 : 20;
    costs_later = chance.percent(70) ? 0 : 30;
    // Many short worlds show what comes of requests and faults together sooner than long ones: few have
    // more.
    constexpr std::int64_t most_requests = 10'000;
    if (!chance.percent(2)) {
        const std::int64_t side_by_side = arrivals == Arrivals::closed ? at_once : 1;
        pause = std::max(pause, lasts * side_by_side / most_requests);
    }
    // More windows than a turn takes up, or gives tokens back to.
    keys = chance.percent(4) ? chance.between(300, 2'000) : keys;
    reserve = chance.percent(20) ? 50 : 0;
    for (LimitSetup& limit : limits) {
        limit.reserves = reserve != 0;
    }
    for (LimitSetup& limit : limits) {
        if (limit.burst != 0 && limit.mode == "charge_refund" && chance.percent(50)) {
            limit.delay = chance.percent(50) ? 1 : chance.between(1, limit.burst);
        }
    }
    for (LimitSetup& limit : limits) {
        if (!limit.running && chance.percent(15)) {
            limit.penalty = 1000 * chance.between(3, 15);
        }
    }
}

std::size_t draw_key(const TrafficPlan& plan, Chance& chance) {
    if (!plan.skewed) {
        return static_cast<std::size_t>(chance.below(plan.keys));
    }
    // The logarithm of a number that is drawn evenly below that of the end: 1/n, near enough. The keys are so
    // few that every library's exp() rounds to the same.
    constexpr std::int64_t steps = 1'000'000;
    const double part = static_cast<double>(chance.below(steps)) / steps;
    const double key = std::exp(part * std::log(static_cast<double>(plan.keys + 1))) - 1;
    return std::min(static_cast<std::size_t>(key), static_cast<std::size_t>(plan.keys - 1));
}

Setup draw_change(const Setup& from, Chance& chance) {
    Setup changed = from;
    for (LimitSetup& limit : changed.limits) {
        if (chance.percent(50)) {
            draw_rate(limit, chance);
            limit.lease = chance.percent(70) ? lease_auto : static_cast<std::uint64_t>(chance.between(1, 50));
        }
    }
    for (StoreSetup& store : changed.stores) {
        if (chance.percent(50)) {
            store.check_timeout = static_cast<Msec>(chance.between(20, 300));
            store.charge_timeout = static_cast<Msec>(chance.between(500, 6000));
        }
        if (store.discovers() || !store.here.empty()) {
            continue;
        }
        if (chance.percent(30) && store.shards.size() > 1) {
            store.shards.pop_back();
        } else if (chance.percent(20)) {
            store.shards.front().name += "x";
        }
    }
    changed.on_error = static_cast<OnError>(chance.below(3));
    return changed;
}

}  // namespace rate_limit::world
