#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text/json_text.h"
#include "limiter/charges/losses.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/configuration.h"
#include "limiter/store_conf.h"
#include "operator/figures/family.h"

namespace rate_limit {

// Figures of a shard but for its nodes: waiting charges, what was written, tokens, how long requests waited.
// All shards of a cluster are one. Functions that write throw std::bad_alloc.

/// A shard as one worker finds it at this moment.
struct ShardFigures {
    /// `index` is that of its configuration.
    ShardFigures(const StoreConf& store, std::size_t index) noexcept;

    /// Counts of all shards together that the zone has no room for, as a shard `*` of a store `*`.
    explicit ShardFigures(Zone& zone) noexcept;

    bool is_whole() const noexcept { return counters.is_whole() && losses.is_whole(); }

    const StoreConf* store = nullptr;  ///< null: of all shards together that the zone has no room for
    const ShardConf* shard = nullptr;
    Subject subject;
    ShardCounters counters;
    Counters<Loss> losses;
    std::uint64_t windows = 0;  ///< whose charges wait
    std::uint64_t charges = 0;  ///< that wait, and refunds
    std::int64_t tokens = 0;    ///< at hand
};

struct CountOf {
    std::string_view name;
    std::uint64_t count;
};

/// The results of one kind of write.
struct WriteFigures {
    std::string_view name;
    std::array<CountOf, 4> results;  ///< stored, dropped, in_doubt, expired
};

/// Charges, reservations, refunds.
std::array<WriteFigures, 3> writes_of(const ShardFigures& found);

/// Counts of what became of tokens.
std::array<CountOf, 4> token_events(const ShardFigures& found);

/// The shards of stores that limits use, one after the other, those of a store side by side. In the end what
/// shards count together that the zone has no room for, if there are any.
class ShardWalk {
public:
    /// `main` has a zone and outlives this.
    explicit ShardWalk(const Configuration& main) noexcept : main_(main) {}

    /// Nothing: there is no more.
    std::optional<ShardFigures> next() noexcept;

private:
    const Configuration& main_;
    std::size_t store_ = 0;  // the store of the next shard
    std::size_t shard_ = 0;
    bool all_whole_ = true;
};

/// The members of the object of one shard, but for its nodes.
void write_shard(JsonText& json, const ShardFigures& found);

/// The metrics of shards.
extern const std::array<Family<ShardFigures>, 6> shard_families;

}  // namespace rate_limit
