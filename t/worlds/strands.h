#pragma once

#include "t/worlds/machines.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// All is well again, and was for long enough: no charge and no refund waits any more for a shard that is
/// configured. Those for another one wait until their window ends, for a reload that brings it back.
void check_nothing_waits(Machines& machines, Truths& truths);

/// Whatever may stay in a machine's memory for good reasons.
struct Excuses {
    /// Machines may have notes of shards that they have not any more, for a reload that brings these back
    /// until their windows end: nothing of the memory is asked.
    bool other_shards = false;

    /// Killed workers leave their counts: neither windows nor counts are asked, notes alone.
    bool killed = false;

    /// Records of slots say for a while that requests came to wait, also where they do not any more.
    bool slots = false;
};

/// All workers have been asked to leave, long ago: nothing keeps them, no tokens are noted, no request is
/// noted as one that runs. The memory of the machine has windows, and in these nothing that a request or a
/// worker would have to take out again.
void check_nothing_stays(Machines& machines, const Excuses& excuses, Truths& truths);

}  // namespace rate_limit::world
