#pragma once

#include "ngx/conf/tallies.h"

namespace rate_limit {

/// What is looked up: one key under one limit of one store.
struct KeyOfLimit {
    const Tally& tally;
};

}  // namespace rate_limit
