#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace rate_limit::world {

/// The memory of one Lua: small blocks come from pages and go back to a list of their size, as scripts ask
/// for them and free them by the dozen in each call.
class ScriptMemory {
public:
    /// A lua_Alloc; `owner` is a ScriptMemory, which outlives the state of Lua.
    static void* allocate(void* owner, void* block, std::size_t before, std::size_t size) noexcept;

private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t step = 16;
    static constexpr std::size_t largest = 512;
    static constexpr std::size_t page = std::size_t{32} * 1024;

    void* take(std::size_t size) noexcept;
    void give_back(void* block, std::size_t size) noexcept;

    std::array<Free*, largest / step + 1> free_{};  // by size
    std::vector<std::unique_ptr<char[]>> pages_;
    char* next_ = nullptr;  // in the last page
    std::size_t left_ = 0;
};

}  // namespace rate_limit::world
