#pragma once

#include <memory>

#include "limiter/configuration.h"
#include "operator/figures/document.h"
#include "operator/serving.h"

namespace rate_limit {

// Documents of the console for programs. The configuration outlives them. Both throw std::bad_alloc.

/// Everything, as JSON, as the console of a location shows it.
std::unique_ptr<Document> tell_json(const Configuration& main, const OperatorRights& rights);

/// The metrics, in Prometheus's text format.
std::unique_ptr<Document> tell_metrics(const Configuration& main);

}  // namespace rate_limit
