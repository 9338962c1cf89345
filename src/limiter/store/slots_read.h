#pragma once

#include <string_view>

#include "limiter/waits/answer.h"
#include "redis/hold_reply.h"

namespace rate_limit {

class Shard;
class SlotsReadCommand;

/// A question to the primary: how many slots of a key machines hold. It changes nothing.
class SlotsRead final : public Answer {
public:
    SlotsRead() = default;
    ~SlotsRead() { cancel(); }

    /// `key`, in Redis, is copied.
    void start(Shard& shard, std::string_view key, Owner& owner) noexcept;

    void cancel() noexcept override;

    /// The primary's answer.
    const Held& held() const noexcept { return held_; }

private:
    friend class SlotsReadCommand;

    void deadline_passed() noexcept override;

    SlotsReadCommand* command_ = nullptr;  // null: there is no answer to come
    Held held_;
};

}  // namespace rate_limit
