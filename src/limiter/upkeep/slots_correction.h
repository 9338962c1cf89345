#pragma once

#include <cstddef>

namespace rate_limit {

class Zone;

/// Corrects the records of running requests after workers have died, a few sets of the zone at a time. Keys
/// that requests ask for meanwhile are corrected by these.
class SlotsCorrection {
public:
    /// One turn of one worker; true if there is more to do.
    bool turn(Zone& zone) noexcept;

private:
    static constexpr std::size_t sets_a_turn = 1000;

    /// Another worker may be in the middle of a change: a set is left after so many tries.
    static constexpr int most_tries = 100;

    std::size_t next_ = 0;
    int tries_ = 0;
    bool under_way_ = false;
};

}  // namespace rate_limit
