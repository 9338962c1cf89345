#pragma once

namespace rate_limit {

/// Brings a cache line near that is about to be written, so that another processor hands it over at once, and
/// not first to be read and then to be written.
inline void prefetch_to_write(const void* at) noexcept {
#if defined(__x86_64__)
    // What the builtin makes of this where the compiler may not assume a processor that has the instruction
    // is a fetch to read. All that run 64-bit code take it, if only for no operation.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(at)));
#else
    __builtin_prefetch(at, 1);
#endif
}

}  // namespace rate_limit
