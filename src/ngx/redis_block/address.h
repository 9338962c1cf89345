#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

struct MainConf;
struct NodeConf;
struct ShardConf;
struct StoreBlock;

/// Reads ADDRESS, or NAME=ADDRESS, and resolves it. Resolving blocks, as it does for every name in a
/// configuration. `of`: whose address it is, as errors name it.
char* parse_node(ngx_conf_t* cf, const ngx_str_t& word, const char* of, in_port_t default_port,
                 NodeConf& node);

/// Refuses a replica that is its own primary.
char* compare_nodes(ngx_conf_t* cf, const ShardConf& shard);

/// Warns of a shard that shares its primary with an earlier one of the store.
void compare_shards(ngx_conf_t* cf, const StoreBlock& store, const ShardConf& shard);

/// Warns of a store that counts in the keys of an earlier one.
void compare_stores(ngx_conf_t* cf, const MainConf& main, const StoreBlock& store);

}  // namespace rate_limit
