#include "ngx/store/reservation.h"

#include <optional>

#include "core/free_list.h"
#include "ngx/store/reserve_command.h"
#include "ngx/store/shard.h"

namespace rate_limit {

/// Belongs to the node until it is answered; `reservation` is null when the request is gone.
class ReservationCommand final : public ReserveCommand {
public:
    std::string_view encode(CommandWriter& writer) override {
        sent = true;
        return ReserveCommand::encode(writer);
    }
    bool wanted() const noexcept override { return reservation != nullptr; }
    void answered(Node& from, Delivery delivery, const Reply* reply) noexcept override;

    Reservation* reservation = nullptr;
    std::optional<Debt> owed;  // what the request that is gone owes
    bool sent = false;         // it may have reached the primary

private:
    friend class Reservation;

    void take_answer(Node& from, Delivery delivery, const Reply* reply) noexcept;
    void part_with(Delivery delivery, const Reply* reply) noexcept;
};

void ReservationCommand::answered(Node& from, Delivery delivery, const Reply* reply) noexcept {
    const bool awaited = reservation != nullptr && reservation->waiting();
    if (delivery == Delivery::answered && awaited && send_text(from, *reply)) {
        return;
    }
    if (reservation != nullptr) {
        take_answer(from, delivery, reply);
    } else {
        part_with(delivery, reply);
    }
    FreeList<ReservationCommand>::common().put_back(*this);
}

/// The request is still there. If it does not wait any more, it is not told; it will look.
void ReservationCommand::take_answer(Node& from, Delivery delivery, const Reply* reply) noexcept {
    Reservation& of = *reservation;
    of.command_ = nullptr;
    if (delivery == Delivery::in_doubt) {
        of.in_doubt_ = true;
        charges->doubt_reservation();
    }
    if (!of.waiting()) {
        if (delivery == Delivery::answered) {
            (void)read(*reply, of.granted_, of.window_);
        }
    } else if (delivery != Delivery::answered) {
        of.end(no_answer);  // perhaps it granted it: it is not asked again
    } else {
        const Fault fault = judge(from, *reply, of.granted_, of.window_);
        of.end(fault == Fault::none ? nullptr : explain(fault));
    }
}

/// The request is gone: it owes what it left with, and the rest is given back.
void ReservationCommand::part_with(Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::in_doubt) {
        owed ? charges->doubt(*owed) : charges->doubt_reservation();
        return;
    }
    std::int64_t granted = 0;
    Window window;
    if (delivery == Delivery::answered) {
        (void)read(*reply, granted, window);
    }
    const std::int64_t cost = owed ? owed->cost : 0;
    if (granted > cost) {
        charges->refund(key, demand, granted - cost, window.reset);
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
    begin(shard.deadlines(), Stage::whole, owner);
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
        command_ = &command;
        command.charges->go_before();
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
