#pragma once

#include <cstdint>

#include "core/limit/window.h"
#include "core/machine/workers/note_walk.h"
#include "limiter/log_throttle.h"

namespace rate_limit {

struct Configuration;
class Shard;
class Zone;

/// How far a worker's upkeep is.
enum class Stage : unsigned char {
    running,  ///< only tokens that are not needed go back
    last,     ///< this is the last worker: all tokens go back
    over,     ///< given up: no tokens could go back for a while
};

/// The looks of one worker at the notes and waiting charges that its walk finds.
class NoteLooks {
public:
    Looked look_after(const Configuration& main, const Noted& seen, Millis now, Stage stage) noexcept;

    /// Something was left that the last worker must try again; whoever begins a walk resets it.
    bool kept = false;

private:
    Looked look_after_slots(Shard* shard, const Noted& seen, Stage stage) noexcept;
    void drop_closed(Zone& zone, const Noted& seen, Millis now) noexcept;
    static void log_dropped(void* self, Log& log) noexcept;

    std::uint64_t dropped_ = 0;  // charges, not logged yet
    LogThrottle drop_log_{log_dropped, this};
};

}  // namespace rate_limit
