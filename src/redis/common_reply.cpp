#include "redis/common_reply.h"

#include <array>
#include <cstring>

#include "core/digits.h"

namespace rate_limit {
namespace {

/// The bytes of a reader's buffer that have not been read yet.
class Unread {
public:
    Unread(const char* at, const char* end) noexcept : at_(at), end_(end) {}

    const char* at() const noexcept { return at_; }

    bool skip(std::string_view text) noexcept {
        if (static_cast<std::size_t>(end_ - at_) < text.size() ||
            std::memcmp(at_, text.data(), text.size()) != 0) {
            return false;
        }
        at_ += text.size();
        return true;
    }

    /// Reads a line of 1 to safe_digits digits, without leading zeros; `size` is how many digits it has.
    bool number(std::int64_t& number, std::size_t& size) noexcept {
        const char* const first = at_;
        size = read_digits({first, static_cast<std::size_t>(end_ - first)}, number);
        at_ += size;
        return size != 0 && (*first != '0' || size == 1) && skip("\r\n");
    }

    /// Reads an integer, a bulk string that is an integer, or nil.
    bool value(ReplyValue& value) noexcept {
        std::size_t size = 0;
        value.kind = ReplyValue::Kind::integer;
        if (skip(":")) {
            return number(value.integer, size);
        }
        if (skip("$-1\r\n")) {
            value = {ReplyValue::Kind::nil, 0};
            return true;
        }
        std::int64_t length = 0;
        return skip("$") && number(length, size) && number(value.integer, size) &&
               size == static_cast<std::size_t>(length);
    }

private:
    const char* at_;
    const char* end_;
};

void set(Reply& reply, int type, std::size_t count) noexcept {
    reply.head = redisReply{};
    reply.head.type = type;
    reply.head.str = reply.text.data();
    reply.malformed = false;
    reply.count = count;
    reply.values = {};
    reply.text[0] = '\0';
    reply.text_length = 0;
}

}  // namespace

bool read_common(redisReader& reader, Reply& reply) noexcept {
    if (reply.tree != nullptr) {
        return false;
    }
    Unread unread(reader.buf + reader.pos, reader.buf + reader.len);
    std::array<ReplyValue, 2> values;
    if (unread.skip("*2\r\n")) {
        if (!unread.value(values[0]) || !unread.value(values[1])) {
            return false;
        }
        set(reply, REDIS_REPLY_ARRAY, 2);
        reply.values[0] = values[0];
        reply.values[1] = values[1];
    } else {
        std::size_t size = 0;
        if (!unread.skip(":") || !unread.number(values[0].integer, size)) {
            return false;
        }
        set(reply, REDIS_REPLY_INTEGER, 1);
        reply.head.integer = values[0].integer;
        reply.values[0] = {ReplyValue::Kind::integer, values[0].integer};
    }
    reader.pos = static_cast<std::size_t>(unread.at() - reader.buf);
    return true;
}

}  // namespace rate_limit
