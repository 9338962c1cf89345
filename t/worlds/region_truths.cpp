#include "t/worlds/region_truths.h"

#include <algorithm>
#include <optional>

#include "limiter/store/shard.h"

namespace rate_limit::world {

namespace {

/// So much longer than their windows keys live.
constexpr Micros keys_stay = second;

/// Clocks that drift, and are of milliseconds, are so far from what is known of them.
constexpr Micros clocks_vary = 60'000;

/// A time of UTC, in microseconds of the world.
Micros in_world(Millis wall) {
    return (wall - Loop::usual_wall_clock) * 1000;
}

}  // namespace

RegionTruths::RegionTruths(const Plan& plan, Servers& servers, Truths& truths)
    : plan_(plan),
      servers_(servers),
      truths_(truths),
      regions_(plan.sites.regional ? plan.sites.count : 0),
      late_(arrives_in + 2 * plan.sites.longest_round_trip()),
      ahead_(regions_),
      troubles_(plan) {
    for (std::size_t i = 0; regions_ != 0 && i < plan.machines.clocks.size(); ++i) {
        const WallClock& clock = plan.machines.clocks[i];
        Ahead& ahead = ahead_[plan.sites.region_of(i)];
        ahead.least = std::min(ahead.least, clock.ahead - clock.read_before - clocks_vary);
        ahead.most = std::max(ahead.most, clock.ahead + clocks_vary);
        most_ahead_ = std::max(most_ahead_, ahead.most);
    }
    for (std::size_t i = 0; regions_ != 0 && i < plan.servers.sets.size(); ++i) {
        const ServerPlan::Set& set = plan.servers.sets[i];
        const Micros apart = std::max<Micros>(0, set.apart) * static_cast<Micros>(set.members - 1);
        Ahead& ahead = ahead_[plan.servers.region_of_set(i, regions_)];
        ahead.most = std::max(ahead.most, set.ahead + apart + clocks_vary - keys_stay);
    }
}

std::int64_t RegionTruths::charged_in(std::size_t number, const Account& account, const Span& span) const {
    const auto found = charges_.find({number, account});
    if (found == charges_.end()) {
        return 0;
    }
    const Charges& charges = found->second;
    const auto until = [&charges](Micros at) {
        const auto next = std::lower_bound(charges.begin(), charges.end(), std::pair(at, -always));
        return next != charges.begin() ? std::prev(next)->second : 0;
    };
    return std::max<std::int64_t>(0, until(span.end) - until(span.begin));
}

/// When all clocks of the region are in the window of the request. After that it tells of the next one, or
/// its servers have let this one expire: what was charged there counts for nothing.
RegionTruths::Span RegionTruths::by_clocks_of(std::size_t region, const AppliedLimit& applied) const {
    const Millis reset = applied.verdict.window.reset;
    return {in_world(reset - applied.verdict.rate.period * 1000) - ahead_[region].least,
            in_world(reset) - ahead_[region].most};
}

bool RegionTruths::is_within_all_clocks(const Asking& asking, const AppliedLimit& applied) const {
    for (std::size_t region = 0; region < regions_; ++region) {
        const Span window = by_clocks_of(region, applied);
        if (asking.begun < window.begin || asking.decided >= window.end) {
            return false;
        }
    }
    return true;
}

void RegionTruths::decided(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                           LimitTruths& limit) {
    // Windows that end while the world lasts do so by clocks that go on evenly.
    if (regions_ == 0 || (!limit.lasts() && plan_.machines.has(MachineFault::clock_set))) {
        return;
    }
    const bool in_one = limit.lasts() || is_within_all_clocks(asking, applied);
    const Outcome outcome = applied.verdict.outcome;
    if (outcome == Outcome::passed) {
        check_passed(asking, number, applied, limit);
        if (in_one && asking.alone && under_way_[asking.key] == 1) {
            check_told(asking, number, applied, limit);
        }
    } else if (in_one && outcome == Outcome::rejected) {
        check_rejected(asking, number, applied, limit);
    }
}

/// A worker that waits for the one that is gone tries once more whether one of its servers is back: requests
/// that it has at the same time wait together.
void RegionTruths::decided(const Asking& asking) {
    constexpr Micros tries_in = 2 * second;  // each of them
    const std::optional<std::size_t> gone = plan_.sites.gone;
    const auto timeout = static_cast<Micros>(plan_.servers.stores.front().check_timeout) * 1000;
    const bool waited = asking.decided - asking.begun >= timeout - 2'000;  // timers are of milliseconds
    if (!gone || !waited || asking.begun < troubles_.last_crash(*gone, always) || !reads_others(asking)) {
        return;
    }
    Waits& waits = waits_[asking.worker];
    if (asking.begun <= waits.until) {
        return;
    }
    waits.until = asking.decided;
    waits.begun.push_back(asking.begun);
    while (waits.begun.front() + tries_in <= asking.begun) {
        waits.begun.pop_front();
    }
    const std::size_t first = plan_.servers.first_server_of(*gone, regions_);
    const std::size_t end = plan_.servers.first_server_of(*gone + 1, regions_);
    if (waits.begun.size() > end - first) {
        truths_.fail("a worker of machine " + std::to_string(asking.machine) + " has waited " +
                     std::to_string(waits.begun.size()) + " times since " +
                     std::to_string(waits.begun.front()) + " for the region that is gone, which has " +
                     std::to_string(end - first) + " servers");
    }
}

bool RegionTruths::reads_others(const Asking& asking) const {
    const std::size_t here = plan_.sites.region_of(asking.machine);
    for (std::size_t region = 0; region < regions_; ++region) {
        if (region != plan_.sites.gone && !troubles_.reads(here, region, asking.begun, asking.decided)) {
            return false;
        }
    }
    return true;
}

void RegionTruths::check_passed(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                                LimitTruths& limit) {
    const std::size_t here = plan_.sites.region_of(asking.machine);
    const Micros late = applied.shard().freshness(applied.verdict.rate.period) * 1000 + late_;
    std::vector<std::int64_t>& known =
        known_[{number, asking.key, asking.memory, applied.verdict.window.reset}];
    known.resize(regions_);
    std::int64_t sum = 0;
    for (std::size_t region = 0; region < regions_; ++region) {
        const Span window = by_clocks_of(region, applied);
        if (asking.decided >= window.end) {
            continue;
        }
        if (troubles_.reads(here, region, asking.begun, asking.decided)) {
            const Span certain{std::max(window.begin, troubles_.last_crash(region, asking.decided)),
                               asking.begun - late};
            known[region] = std::max(known[region], charged_in(number, {asking.key, region}, certain));
        }
        sum += known[region];
    }
    const std::int64_t most = applied.verdict.rate.limit;
    if (sum >= most && sum - limit.excused(asking.key) >= most) {
        fail(asking, limit,
             "admits one more of " + std::to_string(most) + ", and knows that all regions had charged " +
                 std::to_string(sum));
    }
}

/// Charges that have waited for a server, on a machine whose clock is behind, count in the window that others
/// have opened there.
void RegionTruths::check_rejected(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                                  LimitTruths& limit) {
    const Micros period = applied.verdict.rate.period * second;
    const Micros begin = in_world(applied.verdict.window.reset) - period - most_ahead_;
    const bool agree = plan_.machines.apart(plan_.lasts) == 0;
    std::int64_t sum = under_way_[asking.key] - 1;
    for (std::size_t region = 0; region < regions_; ++region) {
        const bool in_time = agree || troubles_.reads(region, region, begin, asking.decided);
        sum += charged_in(number, {asking.key, region}, {in_time ? begin : begin - period, always});
    }
    const std::int64_t least = applied.verdict.rate.limit;
    if (sum < least && sum + limit.excused(asking.key) < least) {
        fail(asking, limit,
             "rejects one of " + std::to_string(least) + ", and all regions have charged or have in " +
                 "flight " + std::to_string(sum));
    }
}

/// The use of a region that is gone is told as at least what its machine has read, and at most what was
/// stored there.
void RegionTruths::check_told(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                              LimitTruths& limit) {
    const std::string window = "rl:" + limit.name() + '/' + std::to_string(applied.verdict.rate.period) +
                               "c:client" + std::to_string(asking.key);
    const Millis reset = applied.verdict.window.reset;
    std::int64_t least = 0;
    std::int64_t stored = 0;
    for (std::size_t region = 0; region < regions_; ++region) {
        const Window there = servers_.window(window, region);
        const std::int64_t here = there.reset == reset ? there.used : 0;
        const bool gone = region == plan_.sites.gone;
        const std::int64_t known = gone ? known_[{number, asking.key, asking.memory, reset}][region] : here;
        least += std::min(known, here);
        stored += here;
    }
    const std::int64_t used = applied.verdict.window.used;
    if (used < least || (used > stored && used > stored + limit.excused(asking.key))) {
        fail(asking, limit,
             "is told that " + std::to_string(used) + " is used, and all regions have stored " +
                 std::to_string(stored) + ", of which it knows " + std::to_string(least) + " at least");
    }
}

void RegionTruths::charge(std::size_t number, const Account& account, std::int64_t cost, Micros now) {
    if (regions_ == 0) {
        return;
    }
    Charges& charges = charges_[{number, account}];
    charges.emplace_back(now, (charges.empty() ? 0 : charges.back().second) + cost);
}

void RegionTruths::fail(const Asking& asking, const LimitTruths& limit, const std::string& what) {
    truths_.fail(limit.name() + ", key " + std::to_string(asking.key) + ": machine " +
                 std::to_string(asking.machine) + ' ' + what);
}

}  // namespace rate_limit::world
