#pragma once

#include <string_view>

#include "ngx/store/answer.h"
#include "ngx/store/demand.h"

namespace rate_limit {

struct Debt;
class Node;
class ReservationCommand;
class Shard;

/// One reservation at the primary, which is never asked twice. What is granted after the wait is over is
/// there for the request as long as it does not cancel; after that it is given back.
class Reservation final : public Grant {
public:
    Reservation() = default;
    ~Reservation() { cancel(); }

    /// `key`, the window's Redis key, and `demand` are copied.
    void start(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept;

    void cancel() noexcept override;

    /// The wait is over, and the answer may still come.
    bool unsettled() const noexcept;

    /// As cancel(); but of what is granted later the primary keeps what the request owes, and what it owes
    /// beyond that is charged then. `owed` has been counted by the memory of the window.
    void keep(const Debt& owed) noexcept;

private:
    friend class ReservationCommand;

    void deadline_passed() noexcept override { end("no answer in check_timeout"); }

    ReservationCommand* command_ = nullptr;  // null: there is no answer to come
};

}  // namespace rate_limit
