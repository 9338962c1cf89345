#pragma once

#include <memory>
#include <vector>

#include "core/topology/shared_topology.h"
#include "t/world/configured.h"

namespace rate_limit::world {

/// The findings of all workers of a machine about the servers of each store that discovers them,
/// and of each other region.
class TopologyMemory {
public:
    explicit TopologyMemory(const Setup& setup);

    /// In the order of these stores; each process has copies.
    const std::vector<SharedTopology>& all() const noexcept { return all_; }

private:
    struct Deleter {
        void operator()(void* memory) const noexcept;
    };

    void add();

    std::vector<std::unique_ptr<void, Deleter>> memory_;
    std::vector<SharedTopology> all_;
};

}  // namespace rate_limit::world
