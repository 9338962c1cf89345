#pragma once

#include <cstddef>

#include "core/text/json_text.h"
#include "core/text/metrics_text.h"
#include "ngx/conf/conf.h"

namespace rate_limit {

// What there is to tell of a shard but for its nodes: what waits, what was written, tokens, how long requests
// waited. All shards of a cluster are one. All throw std::bad_alloc.

/// The members of the object of one shard; `index` is that of its configuration.
void write_shard(JsonText& json, const StoreConf& store, std::size_t index);

/// The metrics of all shards.
void write_shard_metrics(MetricsText& text, const MainConf& main);

}  // namespace rate_limit
