#include "limiter/store/reservation.h"

#include <optional>
#include <utility>

#include "core/free_list.h"
#include "limiter/leases/grant_command.h"
#include "limiter/store/shard.h"
#include "redis/decode.h"

namespace rate_limit {

/// Belongs to the node until it is answered; `reservation` is null when the request is gone.
///
/// A plain increment does where the window is known to be open with room: its answer is the new count. If it
/// is the cost alone, the key may not have been there, and is repaired as after a charge; so it is for those
/// that were sent with it, which learn from that to which window their costs go back. If it is above the
/// limit, the cost goes back to the window that is open, and the script decides.
///
/// A plain command takes the cost where a bucket is known to be stored with room. If the bucket had not that
/// much, the cost goes back, and the script decides; also where it was not stored, or was full where it was
/// taken for one that is not. Where other machines have taken so much that the key might end before the
/// bucket is full, the script lets it live on.
class ReservationCommand final : public GrantCommand {
public:
    /// Null without memory.
    static ReservationCommand* take(std::string_view key, const Demand& demand, Charges& charges) noexcept {
        ReservationCommand* command = nullptr;
        try {
            command = &FreeList<ReservationCommand>::common().take();
            command->begin(key, demand, charges);
            return command;
        } catch (...) {
            if (command != nullptr) {
                FreeList<ReservationCommand>::common().put_back(*command);
            }
            return nullptr;
        }
    }

    bool wanted() const noexcept override { return reservation != nullptr || mends(); }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    Reservation* reservation = nullptr;
    std::optional<Debt> owed;  // debt of the request that is gone
    bool sent = false;         // it may have reached the primary

private:
    friend class Reservation;

    enum class Step : unsigned char {
        increment,  // the plain command to a window
        repair,     // its repair
        take,       // the plain command to a bucket
        keep,       // it lets the key live on
        put_back,
        script,
    };

    struct Result {
        Delivery delivery;
        Fault fault = Fault::none;
        Told told{};
        std::optional<Reservation::Stored> stored{};
    };

    std::string_view write(CommandWriter& writer) override;

    bool awaited() const noexcept { return reservation != nullptr && reservation->waiting(); }

    /// It gives back what was charged, or repairs the key: the request need not be there any more.
    bool mends() const noexcept { return back != 0 || repairs(); }
    bool repairs() const noexcept { return step_ == Step::repair || step_ == Step::keep; }
    bool is_plain() const noexcept { return step_ == Step::increment || step_ == Step::take; }
    bool goes_on(Node& from, const Reply& reply) noexcept;
    bool counted(Node& from, const Reply& reply) noexcept;
    bool took(Node& from, const Reply& reply) noexcept;
    bool put_back(const Reply& reply) noexcept;
    bool may_take(bool again) noexcept;
    Reservation::Stored stored_by(const Told& told, bool written) const noexcept;
    void end_plain() noexcept;
    Result result_of_plain(Node& from, const Reply& reply) noexcept;
    Result result_of_repair(Node& from, Delivery delivery, const Reply* reply) noexcept;
    void took_write(Node& from) noexcept;
    Result result_of(Node& from, Delivery delivery, const Reply* reply) noexcept;
    void tell(const Result& result) noexcept;
    void part_with(const Result& result) noexcept;

    Step step_ = Step::script;
    Node* to_ = nullptr;          // the request chose it
    Taking taking_;               // the plain command's, for a bucket
    std::int64_t under_way_ = 0;  // the record counts it
    std::uint32_t sent_ticks_ = 0;
    BucketReceipt taken_;  // for what the plain command took
    Window left_;          // the bucket after that
};

std::string_view ReservationCommand::write(CommandWriter& writer) {
    const bool again = std::exchange(sent, true);
    const Millis now = now_millis();
    sent_ticks_ = ticks_now();
    switch (step_) {
        case Step::increment:
            if (!redirected() && charges->reaches(demand.open_until, now) &&
                charges->outlasts_answer(demand.open_until, now)) {
                return writer.increment(key, demand.want);
            }
            break;
        case Step::repair:
            // A window of its own: what the lost one gives back must not find this one.
            return writer.repair(opening_at(now), with_text());
        case Step::take:
            if (may_take(again)) {
                return taking_.filling ? writer.take_of_filling(key, taking_.cost)
                                       : writer.take(key, taking_.latest, taking_.cost);
            }
            break;
        case Step::keep:
            return writer.draw(key, {demand.token, demand.fill, 0, 0, 0}, with_text());
        case Step::put_back:
            return writer.draw(key, {demand.token, demand.fill, -back, 0, 0, taken_}, with_text());
        case Step::script:
            break;
    }
    step_ = Step::script;
    return GrantCommand::write(writer);
}

/// A command that was redirected takes nothing: the other node has another clock.
bool ReservationCommand::may_take(bool again) noexcept {
    const ServerClock::Time time = again ? ServerClock::Time{} : to_->clock().at(steady_nanos());
    taking_ = {time.earliest, time.latest, demand.owed_for(demand.want), demand.filling};
    return time.earliest != 0 && to_->takes_bitfields() &&
           charges->outlasts_answer(demand.open_until, now_millis());
}

void ReservationCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    end_plain();
    delivery = became(from, delivery, reply);
    if (delivery == Delivery::answered && goes_on(from, *reply)) {
        return;
    }
    if (step_ == Step::repair) {
        charges->lost_windows().end(demand.id, demand.open_until);
    }
    const Result result = result_of(from, delivery, reply);
    if (result.told.granted != 0) {
        charges->reserved();
    }
    if (reservation != nullptr) {
        tell(result);
    } else {
        part_with(result);
    }
    FreeList<ReservationCommand>::common().put_back(*this);
}

/// Whatever the first answer was.
void ReservationCommand::end_plain() noexcept {
    if (under_way_ != 0) {
        charges->end_plain(demand.id, std::exchange(under_way_, 0));
    }
}

/// The bucket as lua/bucket.lua stores it, from when it was sent.
Reservation::Stored ReservationCommand::stored_by(const Told& told, bool written) const noexcept {
    if (!written) {
        return {std::nullopt, told.returned};
    }
    const Millis missing = (told.window.used - nanos_of(now_millis())) / nanos_in_milli;
    return {sent_ticks_ + static_cast<std::uint32_t>(missing + stored_longer(demand.fill)), told.returned};
}

/// True: one more command is on its way.
bool ReservationCommand::goes_on(Node& from, const Reply& reply) noexcept {
    if (is_plain()) {
        return step_ == Step::take ? took(from, reply) : counted(from, reply);
    }
    // A request that is gone needs no grant; but what was charged goes back all the same, and the key is
    // repaired.
    const bool needed = awaited() || mends();
    if (needed && send_again(from, reply)) {
        return true;
    }
    if (step_ != Step::put_back || !put_back(reply)) {
        return false;
    }
    from.submit(*this);
    return true;
}

bool ReservationCommand::counted(Node& from, const Reply& reply) noexcept {
    std::int64_t used = 0;
    if (is_broken_count(reply)) {
        if (fault_of(reply) != Fault::wrongtype) {  // the script says that
            blame(from, fault_of(reply), reply);
        }
        step_ = Step::script;  // which opens the window anew
    } else if (read_increment(reply, used) != Fault::none) {
        return false;
    } else {
        const bool alone = used == demand.want;
        const bool above = !alone && used > demand.rate.limit;
        if (!alone && !above && !charges->lost_windows().has(demand.id, demand.open_until)) {
            return false;
        }
        took_write(from);
        if (alone) {
            charges->begin_anew(demand.id, demand.open_until);
        }
        back = above ? demand.want : 0;
        // It was counted by now: a window that opens later has nothing of it, however often this is sent.
        back_to = std::max(demand.open_until, opening_at(now_millis()).proposed);
        step_ = above ? Step::script : Step::repair;
    }
    from.submit(*this);
    return true;
}

/// The bucket's plain command was answered.
bool ReservationCommand::took(Node& from, const Reply& reply) noexcept {
    Nanos missing = 0;
    bool stored = false;
    const Fault fault = read_taking(reply, taking_, missing, stored);
    const bool fits = taking_.fits(missing, demand.fill);
    const bool lives_on = now_millis() + millis_of(missing) + 1000 <= demand.open_until;
    if (fault == Fault::noperm) {
        from.refuse_bitfields();
        step_ = Step::script;
    } else if (fault == Fault::wrongtype) {
        step_ = Step::script;  // for which it is a full bucket, and which says so
    } else if (fault != Fault::none || (stored && fits && lives_on)) {
        return false;
    } else {
        took_write(from);
        taken_ = receipt_of(taking_, missing, demand.returned);
        left_ = fits ? full_after(missing, now_millis()) : Window{};
        // It goes back by its mark alone, which is worth nothing where the script has cut off what is too far
        // away to be a bucket's: this cost was a part of that.
        back = stored && !fits ? demand.want : 0;
        taken_.at = back != 0 ? 0 : taken_.at;
        step_ = back != 0 ? Step::put_back : stored && fits ? Step::keep : Step::script;
    }
    from.submit(*this);
    return true;
}

/// The cost of a plain command is back where it came from. True: now the script decides.
bool ReservationCommand::put_back(const Reply& reply) noexcept {
    if (reply.is_error()) {
        return false;
    }
    back = 0;
    if (!awaited()) {
        return false;
    }
    step_ = Step::script;
    return true;
}

void ReservationCommand::took_write(Node& from) noexcept {
    from.served();
    charges->proven(from);
}

ReservationCommand::Result ReservationCommand::result_of(Node& from, Delivery delivery,
                                                         const Reply* reply) noexcept {
    if (repairs()) {
        return result_of_repair(from, delivery, reply);
    }
    if (delivery == Delivery::answered && is_plain()) {
        return result_of_plain(from, *reply);
    }
    Result result{delivery};
    if (delivery == Delivery::answered && (step_ == Step::script || reply->is_error())) {
        result.fault = awaited() ? judge(from, *reply, result.told) : read(from, *reply, result.told);
        if (result.told.clock != 0) {
            result.stored = stored_by(result.told, result.told.granted != 0);
        }
    }
    // After any other answer the script may have given it back.
    const bool refused = delivery == Delivery::answered && reply->is_error();
    if (back != 0 && (delivery == Delivery::unsent || refused)) {
        charges->refund_uncounted(key, demand, demand.owed_for(back), demand.open_until, taken_);
    }
    return result;
}

ReservationCommand::Result ReservationCommand::result_of_plain(Node& from, const Reply& reply) noexcept {
    Result result{Delivery::answered};
    Told& told = result.told;
    if (step_ == Step::take) {
        Nanos missing = 0;
        bool stored = false;
        result.fault = read_taking(reply, taking_, missing, stored);
        told.window = full_after(missing, now_millis());
        told.receipt = receipt_of(taking_, missing, demand.returned);
    } else {
        told.window.reset = demand.open_until;
        result.fault = read_increment(reply, told.window.used);
    }
    if (result.fault != Fault::none) {
        blame(from, result.fault, reply);
        return {Delivery::answered, result.fault};
    }
    took_write(from);
    told.granted = demand.want;
    return result;
}

/// The plain command was answered: granted, whatever becomes of the repair. The window that was known has not
/// counted it: what goes back goes to the one that the repair tells of, also at a former primary, or to none.
ReservationCommand::Result ReservationCommand::result_of_repair(Node& from, Delivery delivery,
                                                                const Reply* reply) noexcept {
    Result result{Delivery::answered};
    Told& told = result.told;
    const bool answered = delivery == Delivery::answered;
    if (answered || (reply != nullptr && step_ == Step::repair)) {
        const Fault fault = read_told(*reply, told);
        if (answered) {
            blame(from, fault, *reply);
        }
    }
    if (told.clock != 0) {
        result.stored = stored_by(told, true);
    }
    if (step_ == Step::keep) {
        told.window = left_;  // others may have taken more meanwhile, for which this one does not wait
    } else if (told.window.reset == 0) {
        told.window = {demand.want, 0};
    }
    told.granted = demand.want;
    told.receipt = taken_;
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
    of.granted_ = result.told.granted;
    of.window_ = result.told.window;
    of.stored_ = result.stored;
    of.receipt_ = result.told.receipt;
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
    const std::int64_t granted = demand.owed_for(result.told.granted);
    BucketReceipt receipt = result.told.receipt;
    receipt.only_last = demand.queues;
    if (granted > cost && !(demand.queues && receipt.mark == 0)) {
        charges->refund_uncounted(key, demand, granted - cost, result.told.window.reset, receipt);
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
    begin(shard.deadlines(), &shard.counters(), owner);
    Node* node = shard.nodes().choose_primary();
    using Step = ReservationCommand::Step;
    const Step plain = demand.of_bucket() ? Step::take : Step::increment;
    const Step step = demand.open_until != 0 ? plain : Step::script;
    const std::int64_t under_way = step == Step::take ? demand.want : 0;
    command_ = node != nullptr ? ReservationCommand::take(key, demand, shard.charges()) : nullptr;
    if (command_ == nullptr) {
        if (under_way != 0) {
            shard.charges().end_plain(demand.id, under_way);
        }
        end(node == nullptr ? no_primary : "no memory");
        return;
    }
    command_->reservation = this;
    command_->owed.reset();
    command_->sent = false;
    command_->under_way_ = under_way;
    command_->to_ = node;
    command_->step_ = step;
    command_->charges->go_before(demand.id);
    node->submit(*command_);
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
