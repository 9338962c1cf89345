#pragma once

namespace rate_limit {

class Zone;
struct Configuration;

/// Starts this worker's upkeep. Once a second it looks in the zone for charges that wait and sends those
/// whose primary it can reach, even if the worker that owed them is gone and no request has connected this
/// one yet. It also gives back tokens that are not needed: the workers share the walk over the notes, a slice
/// each, so that no turn of an event loop is long. The last worker to leave gives back all tokens. Called in
/// each worker.
void start_upkeep(const Configuration& main) noexcept;

/// nginx ends, and the zone with it: says what is lost. To be called in the master process.
void log_undelivered(Zone& zone) noexcept;

/// Says what waits in a zone that the running configuration does not have, unless the same was said before.
/// To be called when a worker ends that knows of no other one there.
void log_left_behind(Zone& zone) noexcept;

}  // namespace rate_limit
