#include "t/world/topology_memory.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

namespace rate_limit::world {

void TopologyMemory::Deleter::operator()(void* memory) const noexcept {
    std::free(memory);
}

TopologyMemory::TopologyMemory(const Setup& setup) {
    for (const StoreSetup& store : setup.stores) {
        if (store.discovers()) {
            add();
        }
        for (const RegionSetup& region : store.elsewhere) {
            if (!region.sentinels.empty()) {
                add();
            }
        }
    }
}

void TopologyMemory::add() {
    constexpr std::size_t size = std::size_t{256} * 1024;
    memory_.emplace_back(std::aligned_alloc(4096, size));
    if (memory_.back() == nullptr) {
        throw std::bad_alloc();
    }
    std::memset(memory_.back().get(), 0, size);
    if (!all_.emplace_back().create(memory_.back().get(), size)) {
        throw std::invalid_argument("the memory of a topology is too small");
    }
}

}  // namespace rate_limit::world
