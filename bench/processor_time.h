#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>

/// Seconds of processor time that this thread has had.
inline double thread_seconds() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

/// Seconds for each of the `count` things that run() does: the least of so many rounds.
template <typename Run>
double least_of(unsigned rounds, std::uint64_t count, Run run) {
    double least = 1e9;
    for (unsigned round = 0; round < rounds; ++round) {
        const double before = thread_seconds();
        run();
        least = std::min(least, (thread_seconds() - before) / static_cast<double>(count));
    }
    return least;
}
