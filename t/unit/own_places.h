#pragma once

#include <cstddef>
#include <vector>

#include "core/machine/workers/worker_places.h"

namespace rate_limit {

/// Places in memory of their own, as the zone has them.
class OwnPlaces : public WorkerPlaces {
public:
    explicit OwnPlaces(std::size_t places = 256) : lines_(bytes_for(places) / alignment) {
        (void)use(lines_.data(), lines_.size() * alignment);
    }

private:
    struct alignas(alignment) Line {
        char bytes[alignment];
    };

    std::vector<Line> lines_;
};

}  // namespace rate_limit
