#pragma once

#include "t/worlds/machines.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// All is well again, and was for long enough: no charge and no refund waits any more.
void check_nothing_waits(Machines& machines, Truths& truths);

/// All workers have been asked to leave, long ago: nothing keeps them, no tokens are noted, no request is
/// noted as one that runs. Without `same_shards` notes stay: they are of shards that a machine has not any
/// more, and another reload may bring them back until their windows end.
void check_nothing_stays(Machines& machines, bool same_shards, Truths& truths);

}  // namespace rate_limit::world
