#include "t/world/server_memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace rate_limit::world {

void* ScriptMemory::allocate(void* owner, void* block, std::size_t before, std::size_t size) noexcept {
    ScriptMemory& memory = *static_cast<ScriptMemory*>(owner);
    if (block != nullptr && size != 0 && (before > largest) == (size > largest)) {
        if (size > largest) {
            return std::realloc(block, size);
        }
        if ((before + step - 1) / step == (size + step - 1) / step) {
            return block;
        }
    }
    void* moved = size != 0 ? memory.take(size) : nullptr;
    if (block != nullptr && (moved != nullptr || size == 0)) {
        if (moved != nullptr) {
            std::memcpy(moved, block, std::min(before, size));
        }
        memory.give_back(block, before);
    }
    return moved;
}

void* ScriptMemory::take(std::size_t size) noexcept {
    if (size > largest) {
        return std::malloc(size);
    }
    const std::size_t steps = (size + step - 1) / step;
    if (Free* block = free_[steps]; block != nullptr) {
        free_[steps] = block->next;
        return block;
    }
    if (left_ < steps * step) {
        pages_.push_back(std::make_unique<char[]>(page));
        next_ = pages_.back().get();
        left_ = page;
    }
    char* block = next_;
    next_ += steps * step;
    left_ -= steps * step;
    return block;
}

void ScriptMemory::give_back(void* block, std::size_t size) noexcept {
    if (size > largest) {
        std::free(block);
        return;
    }
    Free*& first = free_[(size + step - 1) / step];
    first = new (block) Free{first};
}

}  // namespace rate_limit::world
