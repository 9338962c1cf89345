#pragma once

#include <cstdint>
#include <string_view>

#include "limiter/charges/charges.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

class AwaitedRefundCommand;
class Shard;

/// A refund at the primary that an operator waits for. It is sent once. What the primary says goes into the
/// memory of this machine, also when nobody waits for it any more.
class AwaitedRefund final : public Answer {
public:
    AwaitedRefund() = default;
    ~AwaitedRefund() { cancel(); }

    /// `key`, the window's Redis key, is copied. window() is what is left of the window; {0, 0}: the window
    /// is not there, or not any more.
    void start(Shard& shard, std::string_view key, const GivingBack& what, Owner& owner) noexcept;

    void cancel() noexcept override;

    /// After a failure: it was sent, and nobody knows whether it was done. False: nothing was done.
    bool in_doubt() const noexcept { return in_doubt_; }

private:
    friend class AwaitedRefundCommand;

    void deadline_passed() noexcept override;

    AwaitedRefundCommand* command_ = nullptr;  // null: there is no answer to come
    bool in_doubt_ = false;
};

}  // namespace rate_limit
