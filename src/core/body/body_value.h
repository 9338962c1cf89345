#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace rate_limit {

/// The value that a body has for one field: the last one at the first path that occurs.
class BodyValue {
public:
    static constexpr std::size_t most = 128;  ///< bytes of a text or a number; a longer one says nothing

    bool found() const noexcept { return path_ != no_path; }

    /// Empty, too, where nothing was found.
    std::string_view text() const noexcept { return {text_.data(), length_}; }

    /// One of at most `most` bytes. The paths that count first have the lower numbers.
    void put(unsigned path, std::string_view text) noexcept {
        if (path <= path_) {
            path_ = path;
            length_ = text.size();
            std::copy(text.begin(), text.end(), text_.begin());
        }
    }

private:
    static constexpr unsigned no_path = ~0U;

    unsigned path_ = no_path;
    std::size_t length_ = 0;
    std::array<char, most> text_;
};

}  // namespace rate_limit
