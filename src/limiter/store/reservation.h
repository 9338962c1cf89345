#pragma once

#include <optional>
#include <string_view>

#include "limiter/kinds/owed/demand.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

struct Debt;
class Node;
class ReservationCommand;
class Shard;

/// One reservation at the primary, asked once. If the answer comes after the wait is over, the request can
/// still take what was granted until it cancels; after that, it is given back.
class Reservation final : public Grant {
public:
    Reservation() = default;
    ~Reservation() { cancel(); }

    /// `key`, the window's Redis key, and `demand` are copied.
    void start(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept;

    void cancel() noexcept override;

    /// The wait is over, and the answer may still come.
    bool unsettled() const noexcept;

    /// A bucket after the script has answered: until when it is stored at least, by ticks_now(), if it was
    /// written, and what has been given back to it.
    struct Stored {
        std::optional<std::uint32_t> until;
        std::uint64_t returned = 0;
    };
    const std::optional<Stored>& stored() const noexcept { return stored_; }

    /// The receipt for what was granted of a bucket.
    const BucketReceipt& receipt() const noexcept { return receipt_; }

    /// Like cancel(), but the request owes `owed`: a later grant pays it, and what is missing is charged. The
    /// window's record counts it already.
    void keep(const Debt& owed) noexcept;

private:
    friend class ReservationCommand;

    void deadline_passed() noexcept override { end(too_late); }

    std::optional<Stored> stored_;
    BucketReceipt receipt_;
    ReservationCommand* command_ = nullptr;  // null: there is no answer to come
};

}  // namespace rate_limit
