#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include "redis/tree_reply.h"

namespace rate_limit {

/// One element of a reply.
struct ReplyValue {
    enum class Kind : std::uint8_t { nil, integer, other };
    Kind kind = Kind::other;
    std::int64_t integer = 0;  ///< the value of an integer, or of a bulk string that is one

    /// Whether it is a number from 0 on.
    bool is_count() const noexcept { return kind == Kind::integer && integer >= 0; }
};

/// A Redis reply, decoded without allocating: hiredis gets this object from the reader functions. It is used
/// again for every reply of one connection, and is valid only inside the reply callback. It holds one scalar,
/// or a flat array of up to max_elements values. Nested or larger arrays are read to their end, and marked as
/// `malformed`.
struct Reply {
    static constexpr std::size_t max_elements = 8;
    static constexpr std::size_t max_text = 8192;

    /// The first member, because hiredis takes this object for a redisReply: it reads `type` and, for errors,
    /// `str`. `elements` stays 0.
    redisReply head{};

    bool malformed = false;

    /// Set once a reply came that no command waited for, and never cleared: from then on each reply answers
    /// another command than it seems to. So every later reply of the connection is presented as an error, and
    /// its owner must close it.
    bool stray = false;

    std::size_t count = 0;  ///< how many elements the array has, at most max_elements; 1 for a scalar
    std::array<ReplyValue, max_elements> values{};

    /// The text of an error, a status or a bulk string that is the whole reply: cut at max_text - 1 bytes,
    /// ended by a zero byte.
    std::array<char, max_text> text{};
    std::size_t text_length = 0;

    /// The connection; null, as in tests: no reply is taken for a stray one.
    const redisAsyncContext* context = nullptr;

    /// The tree that takes in the whole of each reply, where the owner sets it. It stays empty for a stray
    /// one.
    TreeReply* tree = nullptr;

    bool is_error() const noexcept { return head.type == REDIS_REPLY_ERROR; }
    bool is_array() const noexcept { return head.type == REDIS_REPLY_ARRAY; }
    std::string_view text_view() const noexcept { return {text.data(), text_length}; }
};

/// Makes `context` decode its replies into `reply`, which must outlive it. If no command waits for a reply,
/// hiredis is given an error instead, so that it closes the connection: any other reply would fail an
/// assertion of hiredis.
void use_reply(redisAsyncContext* context, Reply& reply) noexcept;

/// The functions that hiredis calls for each part of a reply. A reader that uses them has a Reply as its
/// privdata.
extern redisReplyObjectFunctions reply_functions;

}  // namespace rate_limit
