#pragma once

#include "core/machine/workers/note_walk.h"

namespace rate_limit {

class Zone;

/// Counts waiting charges, tokens and slots that a walk passes, for the console.
void count_seen(Zone& zone, const Seen& seen) noexcept;

/// Whether any of a bucket's noted tokens can still be spent.
bool lives(Zone& zone, const DebtRecord& note) noexcept;

/// Nobody gives back what this note was about: a bucket's dead tokens leave its record.
void lose_dead(Zone& zone, const DebtRecord& note) noexcept;

}  // namespace rate_limit
