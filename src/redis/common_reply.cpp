#include "redis/common_reply.h"

#include <cstring>

#include "core/decimal.h"

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

    /// Reads a line that is an integer. One that goes on after 19 digits has no end here.
    bool integer(std::int64_t& number) noexcept {
        const std::size_t size = read_integer({at_, static_cast<std::size_t>(end_ - at_)}, number);
        at_ += size;
        return size != 0 && skip("\r\n");
    }

    /// Reads how many elements an array has, if that is from 1 to Reply::max_elements; else 0.
    std::size_t elements() noexcept {
        const std::size_t count = at_ != end_ && *at_ > '0' ? static_cast<std::size_t>(*at_ - '0') : 0;
        at_ += at_ != end_ ? 1 : 0;
        return count <= Reply::max_elements && skip("\r\n") ? count : 0;
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
            return integer(value.integer);
        }
        if (!skip("$")) {
            return false;
        }
        if (skip("-1\r\n")) {
            value = {ReplyValue::Kind::nil, 0};
            return true;
        }
        std::int64_t length = 0;
        return number(length, size) && number(value.integer, size) &&
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
    if (unread.skip("*")) {
        const std::size_t count = unread.elements();
        set(reply, REDIS_REPLY_ARRAY, count);
        bool sound = count != 0;
        for (std::size_t i = 0; sound && i < count; ++i) {
            sound = unread.value(reply.values[i]);
        }
        if (!sound) {
            return false;
        }
    } else {
        std::int64_t integer = 0;
        if (!unread.skip(":") || !unread.integer(integer)) {
            return false;
        }
        set(reply, REDIS_REPLY_INTEGER, 1);
        reply.head.integer = integer;
        reply.values[0] = {ReplyValue::Kind::integer, integer};
    }
    reader.pos = static_cast<std::size_t>(unread.at() - reader.buf);
    return true;
}

}  // namespace rate_limit
