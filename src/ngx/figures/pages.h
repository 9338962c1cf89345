#pragma once

#include <memory>

#include "ngx/conf/conf.h"
#include "ngx/figures/document.h"

namespace rate_limit {

// Documents of the console. The configuration outlives them. All throw std::bad_alloc.

/// Everything, as JSON, as the console of a location shows it.
std::unique_ptr<Document> tell_json(const MainConf& main, const ConsoleConf& console);

/// The metrics, in Prometheus's text format.
std::unique_ptr<Document> tell_metrics(const MainConf& main);

}  // namespace rate_limit
