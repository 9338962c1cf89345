#pragma once

#include "bench/simulate/events.h"

namespace rate_limit::simulated {

class World;

/// Faults that the setup asks for: an outage of the primaries, which restart with their data, and kills of
/// workers and machines.
class Faults {
public:
    explicit Faults(World& world);

private:
    struct Kill final : Happening {
        void happen() override;
        World* world = nullptr;
        unsigned count = 0;
    };
    struct Outage final : Happening {
        void happen() override;
        World* world = nullptr;
        bool over = false;
    };

    Kill kill_;
    Outage begin_;
    Outage end_;
};

}  // namespace rate_limit::simulated
