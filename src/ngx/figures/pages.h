#pragma once

#include <string>

#include "ngx/conf/conf.h"

namespace rate_limit {

// What the console tells, each as a whole. All throw std::bad_alloc.

/// Everything, as JSON, as the console of a location shows it.
std::string write_json(const MainConf& main, const ConsoleConf& console);

/// The metrics, in Prometheus's text format.
std::string write_metrics(const MainConf& main);

}  // namespace rate_limit
