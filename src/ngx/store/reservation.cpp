#include "ngx/store/reservation.h"

#include <optional>

#include "core/free_list.h"
#include "ngx/store/reserve_command.h"
#include "ngx/store/shard.h"

namespace rate_limit {

/// Belongs to the node until it is answered; `reservation` is null when the request is gone.
///
/// Where the window is known to be open with room, a plain increment does: its answer is the new count. If
/// that is above the limit, the cost goes back, and the script decides. If it is the cost alone, the key may
/// not have been there, and is repaired as after a charge.
class ReservationCommand final : public ReserveCommand {
public:
    std::string_view encode(CommandWriter& writer) override;
    const char* name() const noexcept override;
    bool wanted() const noexcept override { return reservation != nullptr || mends(); }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    Reservation* reservation = nullptr;
    std::optional<Debt> owed;  // what the request that is gone owes
    bool sent = false;         // it may have reached the primary

private:
    friend class Reservation;

    enum class Step : unsigned char { increment, repair, script };

    /// What became of it.
    struct Result {
        Delivery delivery;
        Fault fault = Fault::none;
        std::int64_t granted = 0;
        Window window;
    };

    bool awaited() const noexcept { return reservation != nullptr && reservation->waiting(); }

    /// It gives back what was charged, or repairs the key: the request need not be there any more.
    bool mends() const noexcept { return back != 0 || step_ == Step::repair; }
    bool goes_on(Node& from, const Reply& reply) noexcept;
    bool counted(Node& from, const Reply& reply) noexcept;
    void took_write(Node& from) noexcept;
    Result result_of(Node& from, Delivery delivery, const Reply* reply) noexcept;
    Result granted(const Window& window) const noexcept;
    void tell(const Result& result) noexcept;
    void part_with(const Result& result) noexcept;

    Step step_ = Step::script;
};

std::string_view ReservationCommand::encode(CommandWriter& writer) {
    const Millis now = now_millis();
    sent = true;
    if (step_ == Step::repair) {
        // A window of its own: what the lost one gives back must not find this one.
        return writer.repair(opening_at(now), with_text());
    }
    if (step_ == Step::increment && !charges->outlasts_answer(demand.open_until, now)) {
        step_ = Step::script;
    }
    return step_ == Step::increment ? writer.increment(key, demand.want) : ReserveCommand::encode(writer);
}

const char* ReservationCommand::name() const noexcept {
    return step_ == Step::increment ? "HINCRBY"
           : step_ == Step::repair  ? script(ScriptName::repair).file
                                    : ReserveCommand::name();
}

void ReservationCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    delivery = became(from, delivery, reply);
    if (delivery == Delivery::answered && goes_on(from, *reply)) {
        return;
    }
    const Result result = result_of(from, delivery, reply);
    if (result.granted != 0) {
        charges->reserved();
    }
    if (reservation != nullptr) {
        tell(result);
    } else {
        part_with(result);
    }
    FreeList<ReservationCommand>::common().put_back(*this);
}

/// True: one more command is on its way.
bool ReservationCommand::goes_on(Node& from, const Reply& reply) noexcept {
    if (step_ == Step::increment) {
        return counted(from, reply);
    }
    // A request that is gone needs no grant; but what was charged goes back all the same, and the key is
    // repaired.
    const bool needed = awaited() || mends();
    return needed && send_text(from, reply);
}

bool ReservationCommand::counted(Node& from, const Reply& reply) noexcept {
    std::int64_t used = 0;
    if (is_broken_count(reply)) {
        blame(from, fault_of(reply), reply);
        step_ = Step::script;  // which opens the window anew
    } else if (read_increment(reply, used) != Fault::none ||
               (used <= demand.rate.limit && used != demand.want)) {
        return false;
    } else {
        took_write(from);
        back = used == demand.want ? 0 : demand.want;
        step_ = back == 0 ? Step::repair : Step::script;
    }
    from.submit(*this);
    return true;
}

void ReservationCommand::took_write(Node& from) noexcept {
    from.served();
    charges->proven(from);
}

ReservationCommand::Result ReservationCommand::granted(const Window& window) const noexcept {
    return {Delivery::answered, Fault::none, demand.want, window};
}

ReservationCommand::Result ReservationCommand::result_of(Node& from, Delivery delivery,
                                                         const Reply* reply) noexcept {
    Result result{delivery, Fault::none, 0, {}};
    if (step_ == Step::repair) {  // the increment was answered: granted, whatever becomes of the repair
        Window window;
        if (delivery == Delivery::answered) {
            blame(from, read_charge(*reply, window), *reply);
        }
        return granted(window.reset != 0 ? window : Window{demand.want, demand.open_until});
    }
    if (delivery == Delivery::answered && step_ == Step::increment) {
        Window window{0, demand.open_until};
        result.fault = read_increment(*reply, window.used);
        if (result.fault == Fault::none) {
            took_write(from);
            return granted(window);
        }
        blame(from, result.fault, *reply);
        return result;
    }
    if (delivery == Delivery::answered) {
        result.fault = awaited() ? judge(from, *reply, result.granted, result.window)
                                 : read(*reply, result.granted, result.window);
    }
    // After any other answer the script may have given it back.
    const bool refused = delivery == Delivery::answered && reply->is_error();
    if (back != 0 && (delivery == Delivery::unsent || refused)) {
        charges->refund_uncounted(key, demand, back, demand.open_until);
    }
    return result;
}

/// The request is still there. If it does not wait any more, it is not told; it will look.
void ReservationCommand::tell(const Result& result) noexcept {
    Reservation& of = *reservation;
    of.command_ = nullptr;
    if (result.delivery == Delivery::in_doubt) {
        of.in_doubt_ = true;
        doubt(nullptr);
    }
    of.granted_ = result.granted;
    of.window_ = result.window;
    if (!of.waiting()) {
        return;
    }
    if (result.delivery != Delivery::answered) {
        of.end(no_answer);  // perhaps it granted it: it is not asked again
    } else {
        of.end(result.fault == Fault::none ? nullptr : explain(result.fault));
    }
}

/// The request is gone: it owes what it left with, and the rest is given back.
void ReservationCommand::part_with(const Result& result) noexcept {
    if (result.delivery == Delivery::in_doubt) {
        doubt(owed ? &*owed : nullptr);
        return;
    }
    const std::int64_t cost = owed ? owed->cost : 0;
    const std::int64_t granted = demand.owed_for(result.granted);
    if (granted > cost) {
        charges->refund_uncounted(key, demand, granted - cost, result.window.reset);
    }
    if (granted < cost) {
        Charge rest;
        rest.key = key;
        rest.owed = *owed;
        rest.owed.cost -= granted;
        charges->charge(rest);
    } else if (owed) {
        charges->stop_awaiting(*owed);
    }
}

void Reservation::start(Shard& shard, std::string_view key, const Demand& demand, Owner& owner) noexcept {
    begin(shard.deadlines(), Stage::whole, &shard.counters(), owner);
    Node* node = shard.nodes().choose_primary();
    if (node == nullptr) {
        end(no_primary);
        return;
    }
    try {
        ReservationCommand& command = FreeList<ReservationCommand>::common().take();
        command.begin(key, demand, shard.charges());
        command.reservation = this;
        command.owed.reset();
        command.sent = false;
        command.step_ =
            demand.open_until != 0 ? ReservationCommand::Step::increment : ReservationCommand::Step::script;
        command_ = &command;
        command.charges->go_before(demand.id);
        node->submit(command);
    } catch (...) {
        end("no memory");
    }
}

bool Reservation::unsettled() const noexcept {
    return !waiting() && command_ != nullptr && command_->sent;
}

void Reservation::keep(const Debt& owed) noexcept {
    if (command_ != nullptr && command_->sent) {
        command_->owed = owed;
    }
    cancel();
}

void Reservation::cancel() noexcept {
    if (waiting()) {
        stop();
    }
    if (command_ != nullptr) {
        command_->reservation = nullptr;
        command_ = nullptr;
    }
}

}  // namespace rate_limit
