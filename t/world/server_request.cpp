#include "t/world/server_request.h"

#include <charconv>
#include <cstdint>
#include <system_error>

namespace rate_limit::world {
namespace {

constexpr std::int64_t max_words = std::int64_t{1024} * 1024;
constexpr std::int64_t max_bytes = std::int64_t{512} * 1024 * 1024;

/// The bytes that are still to be read.
struct Rest {
    std::string_view bytes;
    std::size_t at = 0;

    /// A line with a number behind its first byte. Whole where it is there, with `number` -1 if it is none.
    Request number(std::int64_t& number) {
        const std::size_t end = bytes.find("\r\n", at);
        if (end == std::string_view::npos) {
            return Request::partial;
        }
        const char* first = bytes.data() + at + 1;
        const char* last = bytes.data() + end;
        const auto [stop, error] = std::from_chars(first, last, number);
        if (error != std::errc() || stop != last) {
            number = -1;
        }
        at = end + 2;
        return Request::whole;
    }
};

Request broken(std::vector<std::string_view>& words, std::string_view error) {
    words.assign(1, error);
    return Request::broken;
}

Request read_word(Rest& rest, std::vector<std::string_view>& words) {
    if (rest.at < rest.bytes.size() && rest.bytes[rest.at] != '$') {
        return broken(words, "ERR Protocol error: expected '$'");
    }
    std::int64_t length = 0;
    if (rest.number(length) == Request::partial) {
        return Request::partial;
    }
    if (length < 0 || length > max_bytes) {
        return broken(words, "ERR Protocol error: invalid bulk length");
    }
    const auto size = static_cast<std::size_t>(length);
    if (rest.bytes.size() - rest.at < size + 2) {
        return Request::partial;
    }
    words.push_back(rest.bytes.substr(rest.at, size));
    rest.at += size + 2;
    return Request::whole;
}

}  // namespace

Request read_request(std::string_view bytes, std::vector<std::string_view>& words, std::size_t& length) {
    words.clear();
    Rest rest{bytes};
    if (!bytes.empty() && bytes[0] != '*') {
        return broken(words, "ERR Protocol error: expected '*'");  // commands without RESP are not read here
    }
    std::int64_t count = 0;
    if (rest.number(count) == Request::partial) {
        return Request::partial;
    }
    if (count < 0 || count > max_words) {
        return broken(words, "ERR Protocol error: invalid multibulk length");
    }
    for (std::int64_t i = 0; i < count; ++i) {
        const Request word = read_word(rest, words);
        if (word != Request::whole) {
            return word;
        }
    }
    length = rest.at;
    return Request::whole;
}

}  // namespace rate_limit::world
