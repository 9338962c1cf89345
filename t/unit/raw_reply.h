#pragma once

#include <memory>
#include <string_view>

#include "redis/reply.h"

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
        redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
        void* object = nullptr;
        return redisReaderGetReply(reader_.get(), &object) == REDIS_OK && object == &reply_;
    }

    bool complete() const { return complete_; }
    bool refused() const { return reader_->err != 0; }

    const Reply& operator*() const { return reply_; }
    const Reply* operator->() const { return &reply_; }

private:
    Reply reply_;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader_;
    bool complete_ = false;
};

}  // namespace rate_limit
