#pragma once

#include <cstdint>
#include <deque>

#include "bench/simulate/link.h"
#include "core/machine/debt_record.h"
#include "core/machine/window_account.h"
#include "core/table/keyed_queue.h"
#include "core/traffic.h"

namespace rate_limit::simulated {

class Machine;
class Worker;

/// A debt of admitted requests to one window, or a refund: as in src/limiter/charges/backlog.h.
struct Debt {
    bool is_refund = false;
    std::int64_t cost = 0;
    std::uint64_t charges = 1;
    Millis reset = 0;
    Receipt receipt;

    void join(const Debt& more) noexcept {
        cost += more.cost;
        charges += more.charges;
    }
};

class Charges;

/// One charge or refund, queued or on its way: as in src/limiter/charges/charge_command.h.
struct Charge final : Sender, KeyedQueue<Charge>::Link {
    WindowId id() const noexcept { return window; }
    void answered(Message& message) override;
    void lost(Message& message, bool sent) override;
    void killed() override;

    Charges* of = nullptr;
    Key key = 0;
    WindowId window;
    Debt owed;
    bool plain = false;
    bool waited = false;
    std::int64_t number = 0;  // a sent refund's number
};

/// Charges and refunds of one worker for one primary, which no request waits for: as in
/// src/limiter/charges/charges.h, without its gate. One batch at a time; charges of one window are one
/// command.
class Charges final : Happening {
public:
    Charges(World& world, Worker& worker, simulated::Link& primary) noexcept
        : world_(world), worker_(worker), primary_(primary) {}

    void charge(Key key, const Debt& owed, bool open);

    /// Gives `cost` back to the window that ends at `reset`.
    void refund(Key key, std::int64_t cost, Millis reset);

    /// The primary is about to be asked about this window.
    void go_before(Key key);

    /// No answer to these charges is awaited any more.
    void stop_awaiting(Key key, const Debt& owed);

    /// The primary is away, or there again.
    void close_gate();
    void send_soon() { set(0); }

    /// The worker was killed.
    void kill();

    static constexpr Millis charge_timeout = 5000;
    static constexpr Millis check_timeout = 100;

    /// Longer than any charge waits for its answer.
    static constexpr Millis patience = 2 * charge_timeout + 1000;

    static bool reaches(Millis reset, Millis now) noexcept {
        return reset - now >= std::max<Millis>(1000, 2 * check_timeout);
    }
    static bool outlasts_answer(Millis reset, Millis now) noexcept {
        return reset - now >= charge_timeout + 1000 && reaches(reset, now);
    }

private:
    friend struct Charge;

    static constexpr Millis pause = 2;
    static constexpr Millis grace = 1;
    static constexpr std::uint32_t dense = 4;
    static constexpr std::size_t max_batch = 2000;
    static constexpr std::size_t max_waited = 200;

    void happen() override;
    void set(Micros in);
    bool joins(Key key, const Debt& owed, bool open) noexcept;
    void schedule_batch();
    void send_batch();
    void send_waiting();
    void send(Charge& charge);
    void end(Charge& charge);
    void wait(Charge& charge);
    void take_answer(Charge& charge, const Message& message);

    World& world_;
    Worker& worker_;
    simulated::Link& primary_;
    KeyedQueue<Charge> queued_;
    std::deque<Charge*> again_;  // refunds that were not answered
    Traffic traffic_{pause, dense};
    std::size_t under_way_ = 0;
    Millis sent_ = 0;
    Micros due_ = -1;  // when the timer fires; -1: not set
};

}  // namespace rate_limit::simulated
