#include "t/world/request_memory.h"

namespace rate_limit {

char* allocate(RequestMemory& memory, std::size_t size) noexcept {
    memory.blocks.push_back(std::make_unique<char[]>(size));
    return memory.blocks.back().get();
}

}  // namespace rate_limit
