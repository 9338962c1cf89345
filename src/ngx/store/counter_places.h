#pragma once

namespace rate_limit {

struct MainConf;

/// Gives the counters of this configuration their places in the zone. To be called in the process that reads
/// the configuration, before its workers count.
void place_counters(const MainConf& main) noexcept;

}  // namespace rate_limit
