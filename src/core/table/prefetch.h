#pragma once

namespace rate_limit {

/// Loads a cache line that the caller is about to write. Another processor that has the line then hands it
/// over once, for writing, instead of first for reading and then for writing.
inline void prefetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
    // Unless the compiler may assume a processor that has this instruction, the builtin compiles to a
    // prefetch for reading. All processors that run 64-bit code accept it, if only as a no-operation.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}

}  // namespace rate_limit
