#pragma once

#include "limiter/leases/batch_kind.h"

namespace rate_limit {

/// Batches of the tokens of windows, and of token buckets.
extern const BatchKind& window_batches;
extern const BatchKind& bucket_batches;

}  // namespace rate_limit
