#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "t/world/master_watch.h"

namespace rate_limit::world {

/// The sentinels of one world, and what befalls them. Those of a region watch its sets alone.
class Sentinels {
public:
    /// `events` and `network` outlive it.
    Sentinels(Events& events, Network& network, const std::vector<std::string>& addresses);

    /// Those of a region, of so many.
    std::vector<Sentinel*> of_region(std::size_t region, std::size_t regions) const;

    /// One of those that watch it is down, silent, slow in pieces, or knows nothing, or nothing new: by
    /// `bits`.
    void lose_one(MasterWatch& watch, std::uint64_t bits);

    /// Most of those that watch it learn of a new primary soon, some in the next two seconds.
    void tell(MasterWatch& watch, std::uint64_t bits);

    /// All are well again.
    void heal();

private:
    Events& events_;
    std::vector<std::unique_ptr<Sentinel>> all_;
    std::set<const Sentinel*> deaf_;  // do not learn anything
};

}  // namespace rate_limit::world
