#pragma once

namespace rate_limit {

/// One line a minute with the counters of each store that have changed since its last line, by whichever
/// worker comes first. To be called in each worker.
void start_report() noexcept;

}  // namespace rate_limit
