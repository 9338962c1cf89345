#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

struct MainConf;
struct StoreBlock;

// The regions of a rate_limit_redis block: its blocks `region`, and `here`.

char* set_region(ngx_conf_t* cf, StoreBlock& store);
char* set_here(ngx_conf_t* cf, StoreBlock& store);

/// The block is read: the store gets the servers of the region here. Says what is missing, or does not go
/// together.
char* take_servers_here(ngx_conf_t* cf, StoreBlock& store);

/// And the store is complete: every other region becomes a store that limits cannot name.
char* add_regions(ngx_conf_t* cf, MainConf& main, StoreBlock& store);

}  // namespace rate_limit
