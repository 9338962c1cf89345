#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "t/world/events.h"
#include "t/worlds/plan.h"
#include "t/worlds/region_troubles.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// The words that the log may have where a store has regions: a server is called one of the region and the
/// shard that it is of, none has the data of another region, and a region or a server of it that is well is
/// not said to fail. In other worlds nothing is asked.
class RegionLines {
public:
    /// All outlive it.
    RegionLines(const Events& events, const Plan& plan, Truths& truths)
        : events_(events), plan_(plan), truths_(truths), troubles_(plan) {}

    /// A worker of the current machine logs this line.
    void on_line(std::string_view line);

private:
    void check_names(std::string_view line, std::string_view role, const std::vector<std::string>& addresses);
    bool is_of(std::size_t server, bool sentinel, std::string_view rest) const;
    void check_blame(std::string_view line);
    bool may_fail_late(std::string_view line) const;
    std::optional<std::size_t> region_blamed(std::string_view line) const;
    void fail(std::string_view line, const char* why);

    const Events& events_;
    const Plan& plan_;
    Truths& truths_;
    const RegionTroubles troubles_;
};

}  // namespace rate_limit::world
