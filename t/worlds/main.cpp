// Runs the limiter in random worlds: `world SEEDS [FIRST]` so many, from a seed on; `world seed SEED` one,
// and says what happens in it. What does not hold ends the program with status 1, and what to type to see it
// again.

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "t/worlds/random_world.h"

namespace {

using rate_limit::world::RandomWorld;

struct Sums {
    std::uint64_t worlds = 0;
    std::uint64_t requests = 0;
    std::uint64_t violations = 0;
    double hours = 0;
};

void run(std::uint64_t seed, std::ostream* log, Sums& sums) {
    RandomWorld world(seed, log);
    const std::vector<std::string> failures = world.run();
    for (const std::string& failure : failures) {
        std::cout << "seed " << seed << ": " << failure << '\n';
    }
    if (!failures.empty()) {
        std::cout << "see it again: make world SEED=" << seed << '\n';
    }
    ++sums.worlds;
    sums.requests += world.requests();
    sums.violations += failures.empty() ? 0 : 1;
    sums.hours += static_cast<double>(world.time()) / 3'600'000'000.0;
}

int usage() {
    std::cerr << "usage: world SEEDS [FIRST], or world seed SEED: whole numbers, SEEDS above 0\n";
    return 2;
}

/// Throws std::invalid_argument for anything but digits.
std::uint64_t number(const std::string& word) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos) {
        throw std::invalid_argument(word + " is no whole number");
    }
    return std::stoull(word);
}

int run_as_told(const std::vector<std::string>& words) {
    if (words.empty() || words.size() > 2) {
        return usage();
    }
    const auto begun = std::chrono::steady_clock::now();
    Sums sums;
    if (words.front() == "seed") {
        if (words.size() != 2) {
            return usage();
        }
        run(number(words.back()), &std::cout, sums);
    } else {
        const std::uint64_t count = number(words.front());
        const std::uint64_t first = words.size() == 2 ? number(words.back()) : 1;
        if (count == 0) {
            return usage();
        }
        for (std::uint64_t seed = first; seed < first + count; ++seed) {
            run(seed, nullptr, sums);
        }
    }
    std::cout << sums.worlds << " worlds, " << sums.hours << " virtual hours, " << sums.requests
              << " requests, " << sums.violations << " worlds in which something did not hold\n";
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    std::cerr << took.count() << " s\n";
    return sums.violations != 0 ? 1 : 0;
}

}  // namespace

int main(int count, char** words) {
    try {
        return run_as_told(std::vector<std::string>(words + 1, words + count));
    } catch (const std::exception& wrong) {
        std::cerr << "world: " << wrong.what() << '\n';
        return usage();
    }
}
