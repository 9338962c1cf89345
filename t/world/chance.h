#pragma once

#include <cstddef>
#include <cstdint>
#include <random>

namespace rate_limit::world {

/// Choices that one seed makes the same, whichever library the program is built with.
class Chance {
public:
    explicit Chance(std::uint64_t seed) : random_(seed) {}

    /// 0 to `end` - 1.
    std::int64_t below(std::int64_t end) {
        return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(end));
    }

    std::int64_t between(std::int64_t first, std::int64_t last) { return first + below(last - first + 1); }

    bool percent(int of_hundred) { return below(100) < of_hundred; }

    std::uint64_t bits() { return random_(); }

    template <typename Container>
    const auto& one_of(const Container& container) {
        return container[static_cast<std::size_t>(below(static_cast<std::int64_t>(std::size(container))))];
    }

private:
    std::mt19937_64 random_;
};

}  // namespace rate_limit::world
