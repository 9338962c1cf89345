#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/pacing.h"
#include "limiter/charges/backlog.h"
#include "limiter/charges/charge_command.h"
#include "limiter/charges/confirmations.h"
#include "limiter/charges/gate.h"
#include "limiter/charges/losses.h"
#include "limiter/charges/lost_windows.h"
#include "limiter/charges/nodes.h"
#include "limiter/charges/numbered_windows.h"
#include "limiter/charges/shard_counters.h"
#include "limiter/charges/unanswered_refunds.h"
#include "limiter/kinds/owed/giving_back.h"
#include "limiter/loop.h"

namespace rate_limit {

struct Demand;

/// What one request owes to a window, or gets back from it, or tokens that go back.
struct Charge {
    std::string_view key;  ///< the window's Redis key; copied
    Debt owed;
    bool open = false;  ///< Redis has said that the window is open: a plain HINCRBY may do
};

/// Sends the charges and refunds of one shard to its primary. No request waits for them.
///
/// A charge that could not be sent, or that the primary refused, waits in the backlog, summed per window, and
/// is sent while that window is open. A charge that was sent and not answered is in doubt: it is counted and
/// never sent again. So of a `check_charge` window: admitted - in doubt <= stored <= admitted. What the
/// primary answers goes into the memory of windows.
///
/// Charges leave in batches, one batch at a time: the next leaves when the one before is answered and, while
/// charges come densely, `pause` has passed since that one left. So a break puts one batch in doubt, one
/// wake-up of the primary serves many charges, and a charge that is alone leaves at once. Charges of one
/// window in one batch are one command.
///
/// Charges go through a Gate. Any worker may have put a charge into the backlog: a worker that has not seen
/// the primary take a write just before sends one of them first.
class Charges final : public ChargeCommand::Owner, private Gate::Owner {
public:
    /// Milliseconds between two batches; none with timer_resolution, as nginx looks at its timers no oftener
    /// than that.
    static constexpr Msec pause = 2;

    /// Milliseconds after the pause in which a charge is expected, and sends the batch.
    static constexpr Msec grace = 1;

    /// So many charges in a pause make it pay. Fewer would be late, and wake the worker for themselves.
    static constexpr std::uint32_t dense = 4;

    /// How many queued commands one batch takes at most, so that no turn of the event loop is long.
    static constexpr std::size_t max_batch = 2000;

    /// How many more it takes from the backlog, so that a primary that comes back is not flooded.
    static constexpr std::size_t max_waited = 200;

    /// How many charges whose windows have closed are dropped in one turn of the event loop.
    static constexpr std::size_t max_closed = 1000;

    /// For so many milliseconds a server that has just become the primary may hold a window that has ended in
    /// place of one that it has not heard of: keys live for a second longer than their windows, by clocks
    /// that differ. An increment would be counted there.
    static constexpr Msec newness = 1500;

    /// `route` and `guide` as Backlog has them; `counters` are the shard's; `numbered`: of refunds.
    Charges(const StoreConf& store, const ShardConf& shard, Nodes& nodes, ShardCounters& counters,
            Route route, NumberedWindows& numbered, Guide& guide);
    Charges(const Charges&) = delete;
    Charges& operator=(const Charges&) = delete;

    void charge(const Charge& charge) noexcept;

    /// Gives `cost` back to the window of `demand` that ends at `reset`. A refund waits where charges wait.
    void refund(std::string_view key, const Demand& demand, std::int64_t cost, Millis reset) noexcept;

    /// Gives back a cost that the record does not count; for a bucket in nanoseconds, as Demand::owed_for()
    /// has it. `receipt`: for what goes back to a bucket.
    void refund_uncounted(std::string_view key, const Demand& demand, std::int64_t cost, Millis reset,
                          const BucketReceipt& receipt = {}) noexcept;

    /// The primary has given it back, and `answer` is the window after that; {0, 0}: it is not there. The
    /// memory of this machine learns of it. Of what is given back wholly nothing that waits here is sent.
    void given_back(const std::string& key, const GivingBack& what, const Window& answer) noexcept;

    /// It has been given back; or it was sent, and nobody knows whether it counts.
    void count_given_back() noexcept { counters_.writes.add(Write::refunds_stored); }
    void doubt_given_back(const GivingBack& what, Doubt why) noexcept;

    /// The cost of all charges that wait on this machine for the window.
    std::int64_t waiting_for(const WindowId& id) const noexcept { return waiting_.cost_of(id); }

    void stored(const Debt& owed) noexcept override;

    /// No answer to these charges is awaited any more: the record stops counting them as unanswered.
    void stop_awaiting(const Debt& owed) noexcept override;

    /// The charges, or the refunds, were sent, and nobody knows whether they count.
    void doubt(const Debt& owed, Doubt why) noexcept override;

    /// The primary has granted something to a reservation, or to a fetch.
    void reserved() noexcept { counters_.writes.add(Write::reservations_stored); }

    /// One reservation is in doubt: clients may have been charged for nothing.
    void doubt_reservation(Doubt why) noexcept { count_in_doubt(Loss::reservations_in_doubt, 1, why); }

    /// Sends the next batch: what is queued, and of the backlog as much as the primary takes now. While a
    /// batch is under way it does nothing: the end of that batch leads to the next.
    void send_batch() noexcept;

    /// Calls send_batch() at the end of this turn of the event loop.
    void send_soon() noexcept { batch_.set_to_end_of_turn(); }

    /// The caller is about to ask the primary about this window. Charges and refunds of it that are queued
    /// leave first, in the same write, even while a batch is under way: the answer counts them.
    void go_before(const WindowId& id) noexcept;

    /// Sends what is left, all of it: the worker, or its configuration, is at its end.
    void send_last() noexcept {
        batch_.clear();
        send_queued(queued_.size());
    }

    /// The primary is not usable any more, or takes no writes: a probe has to show that it does again. What
    /// is queued waits in the backlog.
    void close_gate() noexcept;

    /// The shard has another primary, or none is known any more. Nothing is waited for that the one before
    /// was sent; the new one has to show that it takes charges.
    void change_primary() noexcept;

    /// Commands sent from now on may come to the primary before those sent already.
    void change_way() noexcept { way_ = in_cluster_ ? NumberedWindows::alone : numbered_.new_way(); }

    /// The primary says that it is a replica: it is asked again later, on a new connection.
    void suspect_primary() noexcept;

    /// A node answered a write by `fault`, one of refuses_writes() or, in a cluster, of is_of_slot(). The
    /// primary's closes the gate; another node's only puts off what waits.
    void refused(Node& node, Fault fault, std::string_view command, const Reply& reply) noexcept {
        refused(node, fault, command, reply, Gate::Proof::probe);
    }
    void refused(Node& node, Fault fault, std::string_view command, const Reply& reply,
                 Gate::Proof needs) noexcept override;

    /// Whether a plain increment that leaves now arrives while a window that ends at `reset` is open,
    /// whatever the network does to it on the way, and finds no window of before.
    bool reaches(Millis reset, Millis now) const noexcept override {
        return lasts(reset, now) && msec_now() - nodes_.primary().since() >= newness;
    }

    /// Whether the primary was the primary before a window was opened that has lasted since `opened`: it
    /// cannot have missed it.
    bool saw_begin(Millis opened, Millis now) const noexcept {
        return static_cast<Millis>(msec_now() - nodes_.primary().since() - newness) >= now - opened;
    }

    /// A plain increment has not found the window that ends at `reset`, which is asked for under another end:
    /// no more of them leave for it.
    void begin_anew(const WindowId& id, Millis reset) noexcept;
    LostWindows& lost_windows() noexcept { return lost_windows_; }

    /// A plain command that takes so much of a bucket is not under way any more.
    void end_plain(const WindowId& id, std::int64_t cost) noexcept;

    /// Whether a window that ends at `reset` outlasts the wait for the answer to a command that leaves now:
    /// what the command took can then go back, however late the answer is. A second is for unequal clocks.
    bool outlasts_answer(Millis reset, Millis now) const noexcept {
        return reset - now >= static_cast<Millis>(store_.charge_timeout) + 1000 && lasts(reset, now);
    }

    void led_nowhere(const Node& node) noexcept override;

    /// The primary has taken a write: it gave an answer that a replica would not give.
    void proven(const Node& node) noexcept { proven(node, Gate::Proof::other); }
    void proven(const Node& node, Gate::Proof proof) noexcept override {
        if (&node == &nodes_.primary() && gate_.prove(proof)) {
            send_batch();  // does nothing while a batch is under way: its end sends the next
        }
    }

    /// True if send_batch() stopped at its limit for one turn: the caller calls it again in the next.
    bool searching() const noexcept { return closing_ || waiting_.searching(); }

    /// Makes send_batch() search again where it found nothing; called now and then.
    void search_again() noexcept { waiting_.search_again(); }

    /// Longer than any charge waits for the batch before it, and for its answer.
    Millis patience() const noexcept { return 2 * static_cast<Millis>(store_.charge_timeout) + 1000; }

    /// Whether a worker that leaves waits for what became of a call of this number, which was not answered:
    /// within three seconds after charge_timeout. Each repetition that is not answered either would keep it
    /// for as long again. `number` is a time, which may be far ahead where the clock was set back.
    bool keeps_worker(std::int64_t number, Millis now) const noexcept {
        return std::abs(now - number / 1000) <= static_cast<Millis>(store_.charge_timeout) + 3000;
    }

    /// The circumstances of a question to the primary about a window; `events` and `known`, its end, as its
    /// record had them.
    Question question(const WindowId& id, std::uint32_t events, Millis known) const noexcept {
        return {events, waiting_.cost_of(id), patience(), known};
    }

    std::size_t under_way() const noexcept { return under_way_ + queued_.size(); }  ///< commands
    std::size_t waiting() const noexcept { return waiting_.count(); }  ///< windows, of all workers

    /// Refunds that were not answered are sent again soon, while that may be. Returns how many there are.
    std::size_t ask_again() noexcept;

    /// Refunds that were not answered are not sent again any more: those that may not, or `all`, as the
    /// worker, or its configuration, is at its end.
    void give_up_unanswered(bool all = true) noexcept;

private:
    bool lasts(Millis reset, Millis now) const noexcept {
        return reset - now >= std::max<Millis>(1000, 2 * static_cast<Millis>(store_.check_timeout));
    }

    static void on_batch(void* self) noexcept;

    bool joins(const Charge& charge) noexcept;
    void start(ChargeCommand& command);
    void submit(ChargeCommand& command) noexcept;
    void schedule_batch() noexcept;
    void send(ChargeCommand& command) noexcept;
    void send_queued(std::size_t most) noexcept;
    void send_backlog() noexcept;
    void send_waiting(Backlog::Which which, std::size_t most, bool probes) noexcept;
    void on_gate() noexcept override { send_batch(); }
    void wait(const std::string& key, Debt owed) noexcept override;
    void ended(bool probe, std::uint32_t term) noexcept override;
    std::int64_t number_for(const Debt& owed) noexcept override;
    void end_number(const Debt& owed) noexcept override { numbered_.end(owed.id); }
    bool keep_unanswered(const std::string& key, const Debt& owed, std::int64_t number,
                         Doubt why) noexcept override;
    ChargeCommand* take_waiting(Backlog::Which which) noexcept;
    bool send_unanswered(const WindowId* id, bool probes) noexcept;
    void drop(const Debt& owed, Loss loss, const char* why = nullptr) noexcept override;
    void expire(const Debt& owed) noexcept override;
    void count_expired(const Debt& owed) noexcept;
    void count_in_doubt(Loss loss, std::uint64_t count, Doubt why) noexcept;
    Confirmations& confirmations() noexcept override { return confirmations_; }
    void confirm(const Debt& owed, const Told& told) noexcept override;

    const StoreConf& store_;
    const std::string subject_;  // how logs name the primary
    const bool in_cluster_;
    Nodes& nodes_;
    Guide& guide_;
    ShardCounters& counters_;
    Backlog waiting_;
    NumberedWindows& numbered_;
    NumberedWindows::Way way_;  // for refunds with numbers; alone in a cluster, where some are redirected
    UnansweredRefunds unanswered_;
    const Msec pause_;
    KeyedQueue<ChargeCommand> queued_;  // for the next batch; of buckets alone while the gate is not open
    Traffic traffic_{pause, dense};
    std::uint32_t term_ = 0;     // counts the primaries
    std::size_t under_way_ = 0;  // commands of the present batch that have not ended
    Msec sent_ = 0;              // when the last batch left
    bool closing_ = false;       // more charges of closed windows may wait
    Gate gate_;
    Losses lost_;
    LostWindows lost_windows_;
    Confirmations confirmations_;
    Timer batch_{this, on_batch, Timer::Worker::stays};  // when the next may leave
};

}  // namespace rate_limit
