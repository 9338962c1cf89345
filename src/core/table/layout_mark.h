#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The beginning of memory that processes share and that outlives them: which version of its layout it has,
/// and how many bytes. The memory was all zero before.
struct LayoutMark {
    static constexpr std::size_t alignment = 64;

    std::atomic<std::uint64_t> version;  // changes with the layout; 0: it is not there yet
    std::uint64_t size;

    /// To be called last: what lies behind the mark is there now.
    void set(std::uint64_t layout, std::size_t bytes) noexcept {
        size = bytes;
        version.store(layout, std::memory_order_release);
    }

    bool is(std::uint64_t layout) const noexcept { return version.load(std::memory_order_acquire) == layout; }

    /// Whether there is memory for `least` bytes, in whole cache lines from its beginning on.
    static bool fits(const void* memory, std::size_t size, std::size_t least) noexcept {
        return memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % alignment == 0 &&
               size >= least;
    }
};

}  // namespace rate_limit
