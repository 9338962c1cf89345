#pragma once

namespace rate_limit {

struct Configuration;

/// Gives the counters of this configuration, which has a zone, their places there. To be called in the
/// process that reads the configuration, before its workers count.
void place_counters(const Configuration& main) noexcept;

/// One line a minute with the counters of each store that have changed since its last line, by whichever
/// worker comes first. To be called in each worker.
void start_counter_log() noexcept;

}  // namespace rate_limit
