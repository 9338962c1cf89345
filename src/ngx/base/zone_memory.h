#pragma once

#include <cstddef>
#include <string_view>

#include "limiter/zone.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

// The memory of the zone, as nginx keeps it over reloads.

/// Bytes of the zone that the running configuration has, of this or another copy of the module; 0: it has
/// none.
std::size_t running_zone_size() noexcept;

/// To be called before the configuration changes anything in nginx. NGX_ERROR, and the reason logged, where
/// another copy of the module cannot be taken up.
ngx_int_t admit_copy(ngx_conf_t* cf) noexcept;

/// Asks nginx for the memory, which the zone has when the configuration is taken up. The zone lives in the
/// configuration's pool. Null if it is refused; the reason is logged.
Zone* ask_for_zone(ngx_conf_t* cf, std::size_t size) noexcept;

/// To be called in the master process when it takes up a configuration, whose zone is `next`; null: it has
/// none. Tells the workers of the running one if theirs is another: nobody looks into it after them.
void mark_replaced(const Zone* next) noexcept;

/// To be called when a configuration without http is taken up by a process without a master. nginx would
/// unmap all memory that the running configuration has asked for, while what that has begun goes on in this
/// very process: it is kept, for a later configuration, too. NGX_ERROR without memory.
ngx_int_t keep_running_memory(ngx_cycle_t& cycle) noexcept;

/// Memory that the processes of this configuration share, all zero, until its pool ends. `name` is static.
/// Null: there is none, and the reason is logged.
void* share_memory(ngx_conf_t* cf, std::string_view name, std::size_t size) noexcept;

/// Calls fn(const ngx_shm_zone_t&) for all memory that the running configuration has asked for.
template <typename Fn>
void for_running_zones(Fn&& fn) {
    for_each_of<const ngx_shm_zone_t>(const_cast<const ngx_list_t&>(ngx_cycle->shared_memory), fn);
}

}  // namespace rate_limit
