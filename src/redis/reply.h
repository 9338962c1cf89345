#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

namespace rate_limit {

/// One element of a reply.
struct ReplyValue {
    enum class Kind : std::uint8_t { nil, integer, other };
    Kind kind = Kind::other;
    std::int64_t integer = 0;  ///< of an integer, or of a bulk string that is one
};

/// A Redis reply, decoded without allocating: this object is what hiredis gets from the reader functions,
/// reused for every reply of one connection and valid only inside the reply callback. Holds a flat array of
/// up to max_elements values or one scalar; nested or larger arrays are read to their end and kept as
/// `malformed`.
struct Reply {
    static constexpr std::size_t max_elements = 4;
    static constexpr std::size_t max_text = 8192;

    redisReply head{};  ///< first: hiredis reads `type` and, of errors, `str`; `elements` stays 0

    bool malformed = false;

    /// A reply came that no command waited for. Stays set: whatever follows answers another command than it
    /// seems to, so every later reply of the connection reads as an error, and the connection must be closed.
    bool stray = false;

    std::size_t count = 0;  ///< elements of the array, at most max_elements; 1 for a scalar
    std::array<ReplyValue, max_elements> values{};

    /// Text of an error, a status or a bulk string at the top level, cut at max_text - 1, ended by a zero
    /// byte.
    std::array<char, max_text> text{};
    std::size_t text_length = 0;

    const redisAsyncContext* context = nullptr;  ///< the connection; null: every reply is waited for

    bool is_error() const noexcept { return head.type == REDIS_REPLY_ERROR; }
    bool is_array() const noexcept { return head.type == REDIS_REPLY_ARRAY; }
    std::string_view text_view() const noexcept { return {text.data(), text_length}; }
};

/// Makes `context` decode into `reply`, which must outlive it. A reply that no command waits for is presented
/// to hiredis as an error, so that it closes the connection: it asserts on any other.
void use_reply(redisAsyncContext* context, Reply& reply) noexcept;

/// What hiredis calls; a reader that uses it has a Reply as its privdata.
extern redisReplyObjectFunctions reply_functions;

}  // namespace rate_limit
