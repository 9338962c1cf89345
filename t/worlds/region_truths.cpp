#include "t/worlds/region_truths.h"

#include <algorithm>
#include <limits>
#include <type_traits>

#include "limiter/store/shard.h"

namespace rate_limit::world {

namespace {

/// Clocks that drift, and are of milliseconds, are so far from what is known of them.
constexpr Micros clocks_vary = 60'000;

/// A machine that got another configuration gets the first one again by then, after the last request.
constexpr Micros put_right_in = 6 * second;

constexpr Micros always = std::numeric_limits<Micros>::max() / 4;

/// Of UTC, in microseconds of the world.
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
      least_ahead_(always),
      most_ahead_(-always),
      troubles_(regions_ * regions_) {
    for (const WallClock& clock : plan.machines.clocks) {
        least_ahead_ = std::min(least_ahead_, clock.ahead - clock.read_before - clocks_vary);
        most_ahead_ = std::max(most_ahead_, clock.ahead + clocks_vary);
    }
    if (regions_ != 0) {
        for (const Fault<ServerFault>& fault : plan.servers.faults) {
            trouble(fault);
        }
        for (const Fault<MachineFault>& fault : plan.machines.faults) {
            trouble(fault);
            if (fault.kind == MachineFault::crash) {
                crashes_.emplace(plan.sites.region_of(fault.where), fault.at);
            }
        }
    }
}

void RegionTruths::trouble_between(std::size_t reader, std::size_t read, const Span& span) {
    troubles_[reader * regions_ + read].push_back(span);
}

/// Who is cut off from another region's servers reads those of its own, and charges there. Any other fault
/// concerns all that its region reads, and what others read of it.
template <typename Kind>
void RegionTruths::trouble(const Fault<Kind>& fault) {
    Span span{fault.at, fault.at + fault.life + calms_in};
    std::size_t reader = 0;
    std::size_t read = 0;
    if constexpr (std::is_same_v<Kind, ServerFault>) {
        read = plan_.servers.region_of_set(plan_.servers.set_of(fault.where), regions_);
        reader = fault.kind == ServerFault::stall ? plan_.sites.of_server(fault.where) : read;
    } else {
        reader = read = plan_.sites.region_of(fault.where);
        if (fault.kind == MachineFault::partition) {
            const auto server = static_cast<std::size_t>(fault.bits % plan_.servers.count_servers());
            read = plan_.servers.region_of_set(plan_.servers.set_of(server), regions_);
        } else if (fault.kind == MachineFault::change) {
            span.end = plan_.lasts + put_right_in + calms_in;
        }
    }
    for (std::size_t other = 0; other < regions_; ++other) {
        if (reader == read) {
            trouble_between(reader, other, span);
            trouble_between(other, reader, span);
        } else if (std::is_same_v<Kind, MachineFault>) {
            trouble_between(reader, read, span);
            break;
        } else if (other != read) {  // all that are not at home there may read the replica
            trouble_between(other, read, span);
        }
    }
}

/// A machine that dies takes along what it has not yet sent, or has been refused: of what was charged before
/// there, all that is certain is what others have read.
Micros RegionTruths::last_crash(std::size_t region, Micros now) const {
    const auto next = crashes_.upper_bound({region, now});
    return next != crashes_.begin() && std::prev(next)->first == region ? std::prev(next)->second : -always;
}

bool RegionTruths::reads(std::size_t reader, std::size_t read, Micros begun, Micros decided) const {
    const std::vector<Span>& all = troubles_[reader * regions_ + read];
    return std::none_of(all.begin(), all.end(), [begun, decided](const Span& span) {
        return span.begin <= decided && begun <= span.end;
    });
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

/// When all clocks are in the window of the request. Around that a region that is ahead tells of the next
/// one, or its servers have let this one expire.
RegionTruths::Span RegionTruths::by_all_clocks(const AppliedLimit& applied) const {
    const Millis reset = applied.verdict.window.reset;
    return {in_world(reset - applied.verdict.rate.period * 1000) - least_ahead_,
            in_world(reset) - most_ahead_};
}

void RegionTruths::decided(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                           LimitTruths& limit) {
    // Windows that end while the world lasts do so by clocks that go on evenly.
    if (regions_ == 0 || (!limit.lasts() && plan_.machines.has(MachineFault::clock_set))) {
        return;
    }
    const Span window = by_all_clocks(applied);
    const bool in_one = limit.lasts() || (window.begin <= asking.begun && asking.decided < window.end);
    if (!in_one) {
        return;
    }
    const Outcome outcome = applied.verdict.outcome;
    if (outcome == Outcome::passed) {
        check_passed(asking, number, applied, limit);
        if (asking.alone && under_way_[asking.key] == 1) {
            check_told(asking, applied, limit);
        }
    } else if (outcome == Outcome::rejected) {
        check_rejected(asking, number, applied, limit);
    }
}

void RegionTruths::check_passed(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                                LimitTruths& limit) {
    const std::size_t here = plan_.sites.region_of(asking.machine);
    const Micros late = applied.shard().freshness(applied.verdict.rate.period) * 1000 + late_;
    const Span window = by_all_clocks(applied);
    std::vector<std::int64_t>& known =
        known_[{number, asking.key, asking.memory, applied.verdict.window.reset}];
    known.resize(regions_);
    std::int64_t sum = 0;
    for (std::size_t region = 0; region < regions_; ++region) {
        if (reads(here, region, asking.begun, asking.decided)) {
            const Span certain{std::max(window.begin, last_crash(region, asking.decided)),
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
        const bool in_time = agree || reads(region, region, begin, asking.decided);
        sum += charged_in(number, {asking.key, region}, {in_time ? begin : begin - period, always});
    }
    const std::int64_t least = applied.verdict.rate.limit;
    if (sum < least && sum + limit.excused(asking.key) < least) {
        fail(asking, limit,
             "rejects one of " + std::to_string(least) + ", and all regions have charged or have in " +
                 "flight " + std::to_string(sum));
    }
}

void RegionTruths::check_told(const Asking& asking, const AppliedLimit& applied, LimitTruths& limit) {
    const std::string window = "rl:" + limit.name() + '/' + std::to_string(applied.verdict.rate.period) +
                               "c:client" + std::to_string(asking.key);
    std::int64_t stored = 0;
    for (std::size_t region = 0; region < regions_; ++region) {
        const Window there = servers_.window(window, region);
        stored += there.reset == applied.verdict.window.reset ? there.used : 0;
    }
    const std::int64_t used = applied.verdict.window.used;
    if (used < stored || (used > stored && used > stored + limit.excused(asking.key))) {
        fail(asking, limit,
             "is told that " + std::to_string(used) + " is used, and all regions have stored " +
                 std::to_string(stored));
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
