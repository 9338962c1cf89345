#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "redis/common_reply.h"
#include "redis/reply.h"
#include "redis/unread.h"

namespace rate_limit {

/// A Reply with its own hiredis reader, which a test feeds with raw bytes.
class RawReply {
public:
    RawReply() : reader_(redisReaderCreateWithFunctions(&reply_functions), redisReaderFree) {
        reader_->privdata = &reply_;
    }

    explicit RawReply(std::string_view bytes) : RawReply() { complete_ = feed(bytes); }

    /// Feeds bytes to the reader; true if they complete a reply.
    bool feed(std::string_view bytes) {
        keep(bytes);
        return read();
    }

    /// Puts bytes into the reader's buffer, for read() or read_common().
    void keep(std::string_view bytes) { redisReaderFeed(reader_.get(), bytes.data(), bytes.size()); }

    bool read() {
        void* object = nullptr;
        return redisReaderGetReply(reader_.get(), &object) == REDIS_OK && object == &reply_;
    }

    /// From now on `tree` takes in each reply, too.
    void use(TreeReply& tree) { reply_.tree = &tree; }

    bool read_common() { return rate_limit::read_common(*reader_, reply_); }

    /// Null, or why nothing more may be fed.
    const char* bound() { return bound_unread(*reader_); }

    /// How many bytes have not been read yet.
    std::size_t left() const { return reader_->len - reader_->pos; }

    bool complete() const { return complete_; }
    bool refused() const { return reader_->err != 0; }

    const Reply& operator*() const { return reply_; }
    const Reply* operator->() const { return &reply_; }

private:
    Reply reply_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    bool complete_ = false;
};

inline std::string text_of(const ReplyValue& value) {
    if (value.kind == ReplyValue::Kind::integer) {
        return std::to_string(value.integer);
    }
    return std::string(value.kind == ReplyValue::Kind::nil ? "nil" : "other") +
           (value.integer != 0 ? " that is a number" : "");
}

/// All that a reply says, as text: `array [42, nil]`, `error "ERR no" [other]`, `malformed map [1, 2]`.
inline std::string text_of(const Reply& reply) {
    constexpr const char* types[] = {"none",   "string",    "array",  "integer", "nil",
                                     "status", "error",     "double", "bool",    "map",
                                     "set",    "attribute", "push",   "bignum",  "verbatim"};
    std::ostringstream text;
    text << (reply.stray ? "stray " : "") << (reply.malformed ? "malformed " : "") << types[reply.head.type];
    if (reply.head.integer != 0) {
        text << ' ' << reply.head.integer;
    }
    if (!reply.text_view().empty()) {
        text << " \"" << reply.text_view() << '"';
    }
    if (reply.head.elements != 0 || reply.head.str != reply.text.data() ||
        reply.head.len != reply.text_length || reply.text.at(reply.text_length) != '\0') {
        text << " (hiredis reads another)";
    }
    text << " [";
    for (std::size_t i = 0; i < Reply::max_elements; ++i) {
        const std::string value = text_of(reply.values.at(i));
        if (i < reply.count || value != "other") {  // those beyond the last are to be empty
            text << (i == 0 ? "" : ", ") << value;
        }
    }
    text << ']';
    return text.str();
}

}  // namespace rate_limit
