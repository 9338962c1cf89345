#pragma once

#include "limiter/store_conf.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

struct MainConf;

/// Asks nginx for the memory in which the workers share what they find out about the servers of a store, for
/// each store that has sentinels or seeds, and sets store.topology. Called when all blocks are read.
/// NGX_ERROR if it is refused; the reason is logged.
///
/// It outlives the configuration if the next one has a store of the same name that asks the same sentinels
/// for the same masters, in whatever order, or the same seeds of a cluster. Otherwise each configuration has
/// memory of its own, and its workers ask for themselves as long as there are some: those of the new one
/// would not ask for masters that only the old one names, and an old one might have found servers of other
/// sentinels or another cluster. New memory begins with what was found before, where both configurations
/// name one and the same sentinel or seed: so adding a shard takes nothing from the others.
///
/// Without a master process nginx would unmap memory that this configuration has no use for while the last
/// one's stores run in the same process: it is kept.
ngx_int_t reserve_topologies(ngx_conf_t* cf, const MainConf& main) noexcept;

}  // namespace rate_limit
