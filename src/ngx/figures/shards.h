#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "ngx/charges/losses.h"
#include "ngx/charges/shard_counters.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/redis_conf.h"

namespace rate_limit {

// What there is to tell of a shard but for its nodes: waiting charges, what was written, tokens, how long
// requests waited. All shards of a cluster are one. Functions that write throw std::bad_alloc.

/// A shard as one worker finds it at this moment; `index` is that of its configuration.
struct ShardFigures {
    ShardFigures(const StoreConf& store, std::size_t index) noexcept;

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

/// What became of one kind of write.
struct WriteFigures {
    std::string_view name;
    std::array<CountOf, 3> results;  ///< stored, dropped, in_doubt
};

/// Charges, reservations, refunds.
std::array<WriteFigures, 3> writes_of(const ShardFigures& found);

/// What became of tokens.
std::array<CountOf, 4> token_events(const ShardFigures& found);

/// Calls fn(store, index of the shard) for each shard of stores that limits use.
template <typename Fn>
void for_each_shard(const MainConf& main, Fn&& fn) {
    for (const StoreConf* store : Elements<StoreConf*>(main.stores)) {
        for (std::size_t i = 0; store->used && i < store->shards.size(); ++i) {
            fn(*store, i);
        }
    }
}

/// The members of the object of one shard; `index` is that of its configuration.
void write_shard(JsonText& json, const StoreConf& store, std::size_t index);

/// The metrics of all shards.
void write_shard_metrics(MetricsText& text, const MainConf& main);

}  // namespace rate_limit
