#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rate_limit::world {

/// A command and its arguments; they belong to somebody else.
class Words {
public:
    Words(const std::string_view* first, std::size_t count) noexcept : first_(first), count_(count) {}
    Words(const std::vector<std::string_view>& words) noexcept : Words(words.data(), words.size()) {}

    std::size_t size() const noexcept { return count_; }
    std::string_view operator[](std::size_t at) const noexcept { return first_[at]; }
    const std::string_view* begin() const noexcept { return first_; }
    const std::string_view* end() const noexcept { return first_ + count_; }

    /// Without the first `count`, which is not more than there are.
    Words from(std::size_t count) const noexcept { return {first_ + count, count_ - count}; }

private:
    const std::string_view* first_;
    std::size_t count_;
};

enum class Request : unsigned char { whole, partial, broken };

/// Reads a command from the start of `bytes`: an array of bulk strings. Where it is whole, `words` are its
/// words, in `bytes`, and `length` says how far it goes. Where it is broken, `words` has one element: the
/// server's error.
Request read_request(std::string_view bytes, std::vector<std::string_view>& words, std::size_t& length);

}  // namespace rate_limit::world
