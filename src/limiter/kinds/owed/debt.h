#pragma once

#include <cstdint>

#include "core/limit/bucket.h"
#include "core/limit/window.h"
#include "core/machine/records.h"
#include "core/machine/records/debt_record.h"
#include "core/machine/windows/window_account.h"
#include "redis/script_reply.h"

namespace rate_limit {

struct Demand;

/// Cost that admitted requests owe to one window, or get back from it.
struct Debt {
    DebtKind kind = DebtKind::charges;  ///< or refunds
    WindowKind window_kind = WindowKind::first;
    std::int64_t cost = 0;      ///< sum of all charges, or of all refunds
    std::uint64_t charges = 1;  ///< how many charges or refunds
    std::int64_t period = 0;
    Millis reset = 0;  ///< end of the window found, or proposed, before the request
    WindowId id;       ///< identifies the window in the memory of this machine
    Receipt receipt;
    Nanos fill = 0;                   ///< time to fill a bucket, whose cost is in nanoseconds
    BucketReceipt receipt_of_bucket;  ///< for what goes back to a bucket; of several the earliest mark

    bool only_grows = false;  ///< the window's count: the mode of the charges gives nothing back

    bool of_bucket() const noexcept { return window_kind == WindowKind::bucket; }

    /// Charges of a window are, and may be charged to the next one of their key. A refund is for its window
    /// alone, and what is owed to a bucket ends by itself.
    bool moves_on() const noexcept { return kind == DebtKind::charges && !of_bucket(); }

    /// A later primary is told what its predecessor has confirmed of a window, and nothing of a bucket.
    bool is_confirmed() const noexcept { return !of_bucket(); }

    /// Whether charges, or refunds, of the same window or bucket can be sent as one.
    bool joins(const Debt& more) const noexcept;

    /// Counts more of the same window or bucket to it.
    void join(const Debt& more) noexcept;
};

/// The debt, or the refund, of `cost`, as Demand::owed_for() has it, to the window that ends at `reset`. A
/// bucket is owed it until that must be full again, and takes back until `reset`, when it was to be full:
/// once it has been, the tokens are there already, and others may have taken them.
Debt debt_of(const Demand& demand, DebtKind kind, std::int64_t cost, Millis reset) noexcept;

/// The debt that waits in this record, or is put there.
Debt debt_of(const DebtRecord& waiting) noexcept;
void put(DebtRecord& waiting, const Debt& owed) noexcept;

/// The question to lua/bucket.lua for a debt to a bucket.
Draw draw_of(const Debt& owed, Millis now) noexcept;

/// The primary has taken it, and `told` is the window after that: the memory of this machine learns of it.
/// Returns how many tokens at hand are lost.
std::int64_t learn_taken(WindowTable& windows, const Debt& owed, const Told& told, Millis now) noexcept;

/// It has waited, and is sent: its answer is awaited from now on.
void note_resent(WindowTable& windows, const Debt& owed, Millis now) noexcept;

}  // namespace rate_limit
