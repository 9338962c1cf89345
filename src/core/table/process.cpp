#include "core/table/process.h"

#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace rate_limit {

namespace {

constexpr std::size_t max_stat = 1024;
constexpr int fields_to_start = 19;  // from the state, field 3, to the start time, field 22 (proc(5))

struct Stat {
    char state = 0;  // 0: not known
    std::uint32_t started = 0;
};

Stat read_stat(std::uint32_t pid) noexcept {
    std::array<char, 32> path{};
    std::array<char, max_stat> text{};
    Stat stat;
    if (std::snprintf(path.data(), path.size(), "/proc/%" PRIu32 "/stat", pid) < 0) {
        return stat;
    }
    std::FILE* file = std::fopen(path.data(), "re");
    if (file == nullptr) {
        return stat;
    }
    const std::size_t size = std::fread(text.data(), 1, text.size() - 1, file);
    (void)std::fclose(file);
    text.at(size) = '\0';
    // The program's name is in parentheses and may hold any byte, even a parenthesis: the last one ends it.
    const char* at = std::strrchr(text.data(), ')');
    if (at == nullptr || at[1] != ' ' || at[2] == '\0') {
        return stat;
    }
    at += 2;
    stat.state = *at;
    for (int i = 0; i < fields_to_start && at != nullptr; ++i) {
        at = std::strchr(at + 1, ' ');
    }
    if (at != nullptr) {
        stat.started = static_cast<std::uint32_t>(std::strtoull(at, nullptr, 10));
    }
    return stat;
}

}  // namespace

Process process_of(std::uint32_t pid) noexcept {
    return {pid, read_stat(pid).started};
}

bool is_alive(const Process& process) noexcept {
    // Any other error than ESRCH means that the process exists, but that this one may not signal it.
    if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) {
        return false;
    }
    const Stat stat = read_stat(process.pid);
    if (stat.state == 'Z' || stat.state == 'X') {
        return false;
    }
    return process.started == 0 || stat.started == 0 || process.started == stat.started;
}

}  // namespace rate_limit
