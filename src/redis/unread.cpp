#include "redis/unread.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "core/decimal.h"
#include "redis/reply.h"
#include "redis/tree_reply.h"

namespace rate_limit {
namespace {

// In bytes.
constexpr std::size_t most_of_line = std::size_t{64} * 1024;
constexpr std::size_t most_of_text = std::size_t{1024} * 1024;
constexpr std::size_t most_with_tree = TreeReply::max_text;
constexpr std::size_t most_stored = std::size_t{512} * 1024 * 1024;

/// The length that is left of a text that is passed over: too much for a number.
constexpr std::size_t least_left = std::size_t{64} * 1024;

/// Takes out of the buffer what has come of the text that is being read, and out of the text's length.
bool pass_over(redisReader& reader) noexcept {
    if (reader.ridx < 1 || reader.task[reader.ridx]->type != REDIS_REPLY_STRING) {
        return false;
    }
    const std::string_view unread(reader.buf + reader.pos, reader.len - reader.pos);
    std::int64_t number = 0;
    const std::size_t head = read_digits(unread, number) + 2;  // with the end of the line
    const auto size = static_cast<std::size_t>(number);
    if (size > most_stored || size <= least_left) {
        return false;
    }
    const std::size_t passed = std::min(unread.size() - head, size - least_left);
    std::array<char, max_number + 2> line{};
    char* const end = append(append(line.data(), static_cast<std::int64_t>(size - passed)), "\r\n");
    const auto length = static_cast<std::size_t>(end - line.data());  // at most `head`
    reader.pos += head + passed - length;
    std::memcpy(reader.buf + reader.pos, line.data(), length);
    return true;
}

}  // namespace

const char* bound_unread(redisReader& reader) noexcept {
    const std::size_t unread = reader.len - reader.pos;
    if (unread <= most_of_line) {
        return nullptr;
    }
    if (std::string_view(reader.buf + reader.pos, most_of_line).find("\r\n") == std::string_view::npos) {
        return "its answer has a line above 64 KB";
    }
    TreeReply* const tree = static_cast<Reply*>(reader.privdata)->tree;
    if (unread <= (tree != nullptr ? most_with_tree : most_of_text)) {
        return nullptr;
    }
    if (!pass_over(reader)) {
        return tree != nullptr ? "its answer has a text above 16 MB" : "its answer has a text above 1 MB";
    }
    if (tree != nullptr) {
        tree->add_unexpected();
    }
    return nullptr;
}

}  // namespace rate_limit
