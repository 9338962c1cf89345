#pragma once

#include <cstddef>
#include <vector>

#include "core/counts/last_hour.h"
#include "limiter/configuration.h"
#include "limiter/loop.h"
#include "operator/figures/limits.h"
#include "operator/figures/memory.h"
#include "operator/figures/overrides.h"
#include "operator/figures/stores.h"
#include "operator/figures/top.h"

namespace rate_limit {

/// All that one document tells, gathered once for all its parts. Lives as long as the document.
struct AllFigures {
    /// For which document: only the page sums up minutes, and metrics do not tell rates that were seen.
    enum class For : unsigned char { page, json, metrics };

    /// The last minutes, in which an error or a loss still counts as happening.
    static constexpr std::size_t error_minutes = ToldLimit::late_minutes;
    static constexpr std::size_t loss_minutes = 10;

    struct OfShard : ShardFigures {
        std::vector<NodeFigures> nodes;
        LastHour::Counts lost{};  ///< in loss_minutes
    };

    /// There is nothing in it yet. Texts of keys are shown only where `plain` says so.
    AllFigures(const Configuration& main, For document, bool plain) noexcept
        : main(main), plain(plain), now(now_millis()), document_(document), shards_(main) {}

    /// Adds pieces that gather it, each in far less than a millisecond; none where no limit stands anywhere.
    /// Throws std::bad_alloc.
    template <typename Text>
    void add_to(Pieces<Text>& pieces) {
        if (main.zone == nullptr) {
            return;
        }
        pieces.add([this](Text&) { gather_limits(); });
        pieces.add_some([this](Text&) { return gather_hours(); });
        pieces.add_some([this](Text&) { return gather_shard(); });
        pieces.add([this](Text&) { look_at_windows(*main.zone); });
        pieces.add([this](Text&) { gather_others(); });
    }

    const Configuration& main;
    const bool plain;
    const Millis now;
    std::vector<ToldLimit> limits;  ///< in the order of limits_of()
    std::vector<OfShard> shards;    ///< those of a store side by side
    MemoryFigures memory{};
    std::vector<ShownOverride> overrides;
    Top top;
    LastHour::Counts pressure{};  ///< in loss_minutes, by Pressure

private:
    void gather_limits();
    bool gather_hours();
    bool gather_shard();
    void gather_others();

    const For document_;
    std::size_t hours_ = 0;  // of so many limits the hour is summed up
    ShardWalk shards_;
};

}  // namespace rate_limit
