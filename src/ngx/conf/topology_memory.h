#pragma once

#include "ngx/conf/redis_conf.h"

namespace rate_limit {

/// Asks nginx for the memory in which the workers share what they find out about the servers of this store,
/// and sets store.topology. It outlives the configuration, if the next one has a store of the same name.
/// NGX_ERROR if it is refused; the reason is logged.
ngx_int_t reserve_topology(ngx_conf_t* cf, StoreConf& store);

}  // namespace rate_limit
