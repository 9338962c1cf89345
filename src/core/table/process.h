#pragma once

#include <cstdint>

namespace rate_limit {

/// A process as shared memory names it. The system may give the number of a dead process to another one; the
/// time of its start tells the two apart.
struct Process {
    std::uint32_t pid = 0;
    std::uint32_t started = 0;  ///< low half of the clock ticks from boot to its start; 0: not known
};

/// The running process of this number, with the time of its start if the system tells it (Linux's /proc
/// does).
Process process_of(std::uint32_t pid) noexcept;

/// False once the process has ended, even if its parent has not collected it yet, or another process has its
/// number by now. If the system does not tell start times, any process of this number is taken for it.
bool is_alive(const Process& process) noexcept;

}  // namespace rate_limit
