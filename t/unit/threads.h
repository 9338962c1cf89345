#pragma once

#include <cstddef>
#include <thread>
#include <vector>

namespace rate_limit {

/// Calls run(0) to run(count - 1), each in a thread of its own, and waits until all have returned.
template <typename Run>
void in_threads(std::size_t count, Run run) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; ++i) {
        threads.emplace_back(run, i);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

}  // namespace rate_limit
