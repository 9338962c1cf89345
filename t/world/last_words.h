#pragma once

#include <cstdint>

namespace rate_limit::world {

/// The world that runs is named on standard error where it ends the program: by a signal, by a sanitizer's
/// report, or because it has taken `longest` seconds of processor time. One at a time.
class LastWords {
public:
    static constexpr int longest = 600;

    /// `kind`: what else to type behind "make world" than the seed, as `FAR=1 `.
    explicit LastWords(std::uint64_t seed, int most_seconds = longest, const char* kind = "") noexcept;
    LastWords(const LastWords&) = delete;
    LastWords& operator=(const LastWords&) = delete;
    ~LastWords();
};

}  // namespace rate_limit::world
