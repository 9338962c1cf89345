#include "t/worlds/region_troubles.h"

#include <algorithm>
#include <iterator>

#include "t/worlds/known_charges.h"

namespace rate_limit::world {

namespace {

/// A machine that got another configuration gets the first one again by then, after the last request.
constexpr Micros put_right_in = 6 * second;

/// By then a machine reads another replica in place of one that has died, and charges another primary.
constexpr Micros replaced_in = 5 * second;

}  // namespace

RegionTroubles::RegionTroubles(const Plan& plan)
    : plan_(plan), regions_(plan.sites.regional ? plan.sites.count : 0), troubles_(regions_ * regions_) {
    if (regions_ == 0) {
        return;
    }
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

void RegionTroubles::trouble_between(std::size_t reader, std::size_t read, const Span& span) {
    troubles_[reader * regions_ + read].push_back(span);
}

/// With all that it reads, and with what others read of it.
void RegionTroubles::trouble_with(std::size_t region, const Span& span) {
    for (std::size_t other = 0; other < regions_; ++other) {
        trouble_between(region, other, span);
        trouble_between(other, region, span);
    }
}

/// Those of a replica that stalls concern who may read it: all that are not at home there. A replica that
/// dies with the region where it stands is replaced by another one, once that is noticed.
void RegionTroubles::trouble(const Fault<ServerFault>& fault) {
    const std::size_t read = plan_.servers.region_of_set(plan_.servers.set_of(fault.where), regions_);
    Span span{fault.at, fault.at + fault.life + calms_in};
    if (fault.kind == ServerFault::gone && read != plan_.sites.gone) {
        span.end = fault.at + replaced_in;
    } else if (fault.kind == ServerFault::failover || fault.kind == ServerFault::death ||
               fault.kind == ServerFault::freeze) {
        span.end = fault.at + fault.life + replaced_in;
    }
    if (fault.kind != ServerFault::stall || plan_.sites.of_server(fault.where) == read) {
        trouble_with(read, span);
        return;
    }
    for (std::size_t other = 0; other < regions_; ++other) {
        if (other != read) {
            trouble_between(other, read, span);
        }
    }
}

/// A machine that is cut off from another region's servers reads those of its own, and charges there. Any
/// other fault concerns all that its region reads, and what others read of it.
void RegionTroubles::trouble(const Fault<MachineFault>& fault) {
    const std::size_t reader = plan_.sites.region_of(fault.where);
    Span span{fault.at, fault.at + fault.life + calms_in};
    if (fault.kind == MachineFault::change) {
        span.end = plan_.lasts + put_right_in + calms_in;
    }
    const std::size_t read = fault.kind == MachineFault::partition ? region_of_partable(fault.bits) : reader;
    if (read != reader) {
        trouble_between(reader, read, span);
    } else {
        trouble_with(reader, span);
    }
}

/// That whose servers, or sentinels, it is of, which a machine may be parted from.
std::size_t RegionTroubles::region_of_partable(std::uint64_t bits) const {
    const std::size_t servers = plan_.servers.count_servers();
    const auto number = static_cast<std::size_t>(bits % plan_.partable().size());
    return number < servers ? plan_.servers.region_of_set(plan_.servers.set_of(number), regions_)
                            : plan_.sites.region_of_sentinel(number - servers);
}

/// A machine that dies takes along what it has not yet sent, or has been refused: of what was charged before
/// there, all that is certain is what others have read.
Micros RegionTroubles::last_crash(std::size_t region, Micros now) const {
    const auto next = crashes_.upper_bound({region, now});
    return next != crashes_.begin() && std::prev(next)->first == region ? std::prev(next)->second : -always;
}

bool RegionTroubles::reads(std::size_t reader, std::size_t read, Micros begun, Micros decided) const {
    const std::vector<Span>& all = troubles_[reader * regions_ + read];
    return std::none_of(all.begin(), all.end(), [begun, decided](const Span& span) {
        return span.begin <= decided && begun <= span.end;
    });
}

}  // namespace rate_limit::world
