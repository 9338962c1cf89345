#pragma once

#include <cstddef>
#include <vector>

#include "core/counts/last_hour.h"
#include "limiter/configuration.h"
#include "operator/figures/limits.h"
#include "operator/figures/memory.h"
#include "operator/figures/nodes.h"
#include "operator/figures/overrides.h"
#include "operator/figures/shards.h"

namespace rate_limit {

/// All that the page tells, gathered once for all its parts. Lives as long as the page.
struct Gathered {
    /// The last minutes, in which an error or a loss still counts as happening.
    static constexpr std::size_t error_minutes = 5;
    static constexpr std::size_t loss_minutes = 10;

    struct OfLimit {
        const Tally* tally;
        Rates rates;
        RunningFigures now;
        bool has_hour;
        LastHour::Counts hour;    ///< counts of the whole hour
        LastHour::Counts lately;  ///< counts of error_minutes
    };

    struct OfShard {
        ShardFigures figures;
        LastHour::Counts lost;  ///< in loss_minutes
        std::vector<NodeFigures> nodes;
    };

    /// There is nothing in it yet.
    Gathered(const Configuration& main, Millis now) noexcept : main(main), now(now), shards_(main) {}

    /// Gathers a part, which takes far less than a millisecond. False: all is there. Throws std::bad_alloc.
    bool gather_more();

    const Configuration& main;
    const Millis now;
    std::vector<OfLimit> limits;  ///< in the order of limits_of()
    std::vector<OfShard> shards;  ///< those of a store side by side
    MemoryFigures memory;
    std::vector<ShownOverride> overrides;
    LastHour::Counts pressure{};  ///< in loss_minutes, by Pressure

private:
    void gather_limit();
    bool gather_shard();

    std::vector<ToldLimit> told_limits_;
    ShardWalk shards_;
    bool begun_ = false;
};

}  // namespace rate_limit
