#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The beginning of memory that processes share and that outlives them: which version of which class has laid
/// it out, and how many bytes it has. The memory was all zero before.
struct LayoutMark {
    static constexpr std::size_t alignment = 64;

    std::atomic<std::uint64_t> version;  // changes with the layout; 0: it is not there yet
    std::uint64_t size;

    /// What lies behind this is there now.
    void set(std::uint64_t of, std::size_t bytes) noexcept {
        size = bytes;
        version.store(of, std::memory_order_release);
    }

    bool is(std::uint64_t of, std::size_t bytes) const noexcept {
        return version.load(std::memory_order_acquire) == of && size == bytes;
    }

    /// Whether there is memory for `least` bytes, in whole cache lines from its beginning on.
    static bool fits(const void* memory, std::size_t size, std::size_t least) noexcept {
        return memory != nullptr && reinterpret_cast<std::uintptr_t>(memory) % alignment == 0 &&
               size >= least;
    }

    /// Whether such memory begins with this mark. `least`: of this class and what comes with it, at least.
    static bool begins(const void* memory, std::size_t size, std::size_t least, std::uint64_t of) noexcept {
        return fits(memory, size, least) && static_cast<const LayoutMark*>(memory)->is(of, size);
    }
};

}  // namespace rate_limit
