#pragma once

#include <cstddef>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "t/worlds/plan.h"

namespace rate_limit::world {

/// Before it nothing has happened, or after it nothing will.
constexpr Micros always = std::numeric_limits<Micros>::max() / 4;

/// When machines of one region may not know what is charged in another one, or in their own, by what befalls
/// a world.
class RegionTroubles {
public:
    /// `plan` outlives it. Where its store has no regions nothing is to be asked.
    explicit RegionTroubles(const Plan& plan);

    /// Whether nothing kept machines of the first region from reading the second one, or made them late, from
    /// one time to the other.
    bool reads(std::size_t reader, std::size_t read, Micros begun, Micros decided) const;

    /// When a machine of the region has died for the last time by then; long ago: none has.
    Micros last_crash(std::size_t region, Micros now) const;

private:
    struct Span {
        Micros begin;
        Micros end;
    };

    void trouble(const Fault<ServerFault>& fault);
    void trouble(const Fault<MachineFault>& fault);
    void trouble_with(std::size_t region, const Span& span);
    void trouble_between(std::size_t reader, std::size_t read, const Span& span);
    std::size_t region_of_partable(std::uint64_t bits) const;

    const Plan& plan_;
    const std::size_t regions_;
    std::vector<std::vector<Span>> troubles_;           // by reader and region that is read
    std::set<std::pair<std::size_t, Micros>> crashes_;  // region, and when
};

}  // namespace rate_limit::world
