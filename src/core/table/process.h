#pragma once

#include <cstdint>

namespace rate_limit {

/// A process as shared memory names it. A number alone may be used again by an unrelated process, which would
/// then be taken for the one that died: with the time of its start it is not.
struct Process {
    std::uint32_t pid = 0;
    std::uint32_t started = 0;  ///< clock ticks since boot, of which the low half; 0: not known
};

/// The running process of this number, with its start where the system tells it (Linux's /proc).
Process process_of(std::uint32_t pid) noexcept;

/// False once the process has ended, though its parent has not noticed yet, and though another one has its
/// number. Where the system does not tell, a process that has its number is taken for it.
bool is_alive(const Process& process) noexcept;

}  // namespace rate_limit
