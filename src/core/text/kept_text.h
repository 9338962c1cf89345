#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rate_limit {

/// The front of a text, as plain data that may lie in memory that processes share. All zero bytes are an
/// empty one.
template <std::size_t most_bytes>
class KeptText {
public:
    static constexpr std::size_t most = most_bytes;

    KeptText& operator=(std::string_view text) noexcept {
        bytes_ = {};
        text.copy(bytes_.data(), most);
        size_ = static_cast<std::uint16_t>(std::min(text.size(), most + 1));
        return *this;
    }

    operator std::string_view() const noexcept { return {bytes_.data(), std::min<std::size_t>(size_, most)}; }
    bool empty() const noexcept { return size_ == 0; }

    /// There was more of it than is kept.
    bool is_cut() const noexcept { return size_ > most; }

    friend bool operator==(const KeptText& a, std::string_view b) noexcept {
        return std::string_view(a) == b;
    }

private:
    std::uint16_t size_ = 0;  // of the text; of a longer one, most + 1
    std::array<char, most> bytes_{};
};

}  // namespace rate_limit
