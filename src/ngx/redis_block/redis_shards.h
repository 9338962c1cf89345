#pragma once

#include "ngx/redis_block/store_block.h"

namespace rate_limit {

// Which servers a rate_limit_redis block has: its lines `shard`, `sentinel` and `cluster`.

char* set_shard(ngx_conf_t* cf, StoreBlock& store);
char* set_sentinel(ngx_conf_t* cf, StoreBlock& store);
char* set_cluster(ngx_conf_t* cf, StoreBlock& store);

/// The block is read. Says what is missing, or does not go together.
char* finish_shards(ngx_conf_t* cf, StoreBlock& store);

}  // namespace rate_limit
