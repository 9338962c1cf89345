#pragma once

namespace rate_limit {

/// From now on this worker looks, in turn with the others of its machine, at what the machines of each store
/// share: about once a second, where a configuration says `overrides shared`.
void start_shared_watch() noexcept;

}  // namespace rate_limit
