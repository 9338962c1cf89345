#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

struct MainConf;
struct NodeConf;
struct ShardConf;
struct StoreConf;

/// Reads NAME=ADDRESS of the shard that is being read, and resolves the address. Resolving blocks, as it does
/// for every name in a configuration.
char* parse_node(ngx_conf_t* cf, const ngx_str_t& word, NodeConf& node);

/// Refuses a replica that is its own primary.
char* compare_nodes(ngx_conf_t* cf, const ShardConf& shard);

/// Warns of a shard that shares its primary with an earlier one of the store.
void compare_shards(ngx_conf_t* cf, const StoreConf& store, const ShardConf& shard);

/// Warns of a store that counts in the keys of an earlier one.
void compare_stores(ngx_conf_t* cf, const MainConf& main, const StoreConf& store);

}  // namespace rate_limit
