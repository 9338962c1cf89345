#pragma once

#include <memory>

#include "limiter/configuration.h"
#include "operator/figures/document.h"
#include "operator/html/frame.h"
#include "operator/serving.h"

namespace rate_limit {

/// The page for people, of the console of a location, whose configuration outlives it. Throws std::bad_alloc.
std::unique_ptr<Document> tell_page(const Configuration& main, const OperatorRights& rights, PageView view);

}  // namespace rate_limit
