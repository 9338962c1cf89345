#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "bench/simulate/setup.h"

namespace rate_limit::simulated {

/// Random numbers; a seed always gives the same ones (Steele, Lea and Flood, "Fast splittable pseudorandom
/// number generators", 2014: SplitMix64).
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(mix(seed)) {}

    std::uint64_t bits() noexcept {
        state_ += step;
        return mix(state_);
    }

    /// 0 to just below 1.
    double part() noexcept { return static_cast<double>(bits() >> 11) * 0x1p-53; }

    /// Below `count`, which is not 0.
    std::size_t below(std::size_t count) noexcept {
        return static_cast<std::size_t>(part() * static_cast<double>(count));
    }

    double exponential(double mean) noexcept { return -mean * std::log1p(-part()); }

    static std::uint64_t mix(std::uint64_t z) noexcept {
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    static constexpr std::uint64_t step = 0x9e3779b97f4a7c15;

    std::uint64_t state_;
};

/// How much a delay is this time.
inline Micros draw(const Delay& delay, Random& random) noexcept {
    const double rest = delay.mean_of_rest != 0 ? random.exponential(delay.mean_of_rest) : 0;
    return static_cast<Micros>(delay.fixed + rest);
}

/// Draws one of many things, each with its own weight, in constant time (Vose, "A linear algorithm for
/// generating random numbers with a given distribution", 1991).
class Draws {
public:
    Draws() = default;

    explicit Draws(const std::vector<double>& weights) : parts_(weights.size()), others_(weights.size()) {
        double sum = 0;
        for (const double weight : weights) {
            sum += weight;
        }
        std::vector<std::pair<std::size_t, double>> small;
        std::vector<std::pair<std::size_t, double>> large;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const double share = weights[i] / sum * static_cast<double>(weights.size());
            (share < 1 ? small : large).push_back({i, share});
        }
        while (!small.empty() && !large.empty()) {
            const auto [little, share] = small.back();
            small.pop_back();
            parts_[little] = share;
            others_[little] = large.back().first;
            large.back().second -= 1 - share;
            if (large.back().second < 1) {
                small.push_back(large.back());
                large.pop_back();
            }
        }
        for (const auto* rest : {&small, &large}) {
            for (const auto& [i, share] : *rest) {
                parts_[i] = 1;
            }
        }
    }

    std::size_t next(Random& random) const noexcept {
        const std::size_t i = random.below(parts_.size());
        return random.part() < parts_[i] ? i : others_[i];
    }

private:
    std::vector<double> parts_;
    std::vector<std::size_t> others_;
};

}  // namespace rate_limit::simulated
