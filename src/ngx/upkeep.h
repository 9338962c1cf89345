#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

class Zone;

/// Once a second every worker sees to charges that wait in the zone, and sends on those for its primaries:
/// also the charges of a worker that is gone, also before a request comes that would connect it. Tokens that
/// are noted there and not needed go back: workers share the walk over them, a slice each in turn, so that no
/// turn of an event loop is long; the last worker that leaves gives back all of them. To be called in each
/// worker.
void start_upkeep(ngx_cycle_t* cycle) noexcept;

/// nginx ends, and the zone with it: says what is lost. To be called in the master process.
void log_undelivered(const ngx_cycle_t* cycle, Zone& zone) noexcept;

}  // namespace rate_limit
