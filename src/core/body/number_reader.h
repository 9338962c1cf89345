#pragma once

#include <cstdint>

namespace rate_limit {

/// The grammar of a number of JSON, byte by byte.
class NumberReader {
public:
    /// Whether a number can begin so.
    bool begin(char c) noexcept;

    /// Whether the number goes on with this byte. After false it has ended before it.
    bool take(char c) noexcept;

    /// Whether what was taken is a number.
    bool whole() const noexcept {
        return state_ == State::zero || state_ == State::digits || state_ == State::fraction ||
               state_ == State::exponent;
    }

private:
    enum class State : std::uint8_t { minus, zero, digits, point, fraction, e, sign, exponent };

    bool go(State state) noexcept {
        state_ = state;
        return true;
    }

    State state_ = State::minus;
};

}  // namespace rate_limit
