#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace rate_limit {

/// The id of a client as it is shown: 16 hex digits.
class IdText {
public:
    explicit IdText(std::uint64_t id) noexcept {
        for (auto digit = text_.rbegin(); digit != text_.rend(); ++digit) {
            *digit = "0123456789abcdef"[id & 15U];
            id >>= 4U;
        }
    }

    std::string_view view() const noexcept { return {text_.data(), text_.size()}; }

private:
    std::array<char, 2 * sizeof(std::uint64_t)> text_;
};

}  // namespace rate_limit
