#include "ngx/charges.h"

#include <algorithm>

#include "core/free_list.h"
#include "ngx/check.h"
#include "ngx/zone.h"
#include "redis/answer.h"

namespace rate_limit {

namespace {

constexpr const char* closed_reason = "the window closed before the primary came back";

}  // namespace

/// One charge on its way; after a plain increment that may have made the key, also its repair.
class Charges::ChargeCommand final : public Command {
public:
    static ChargeCommand& take();
    static void give_back(ChargeCommand& command) noexcept { free_list().give_back(command); }

    std::string_view encode(CommandWriter& writer) override;
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

    Charges* charges = nullptr;
    std::string key;
    Owed owed;
    bool plain = false;    // HINCRBY will do, if it is still true when the command leaves
    bool batched = false;  // one of those that waited
    bool repair = false;
    bool with_text = false;

private:
    static FreeList<ChargeCommand>& free_list();

    void end() noexcept;
    void come_back() noexcept;
    void again(Node& node) noexcept;
    void refused(Node& node, Fault fault) noexcept;
    void taken(Node& node, const Reply& reply) noexcept;
};

FreeList<Charges::ChargeCommand>& Charges::ChargeCommand::free_list() {
    static FreeList<ChargeCommand> list;
    return list;
}

Charges::ChargeCommand& Charges::ChargeCommand::take() {
    ChargeCommand& command = free_list().take();
    command.plain = false;
    command.batched = false;
    command.repair = false;
    command.with_text = false;
    return command;
}

std::string_view Charges::ChargeCommand::encode(CommandWriter& writer) {
    const Millis now = now_millis();
    const Millis proposed = owed.reset > now ? owed.reset : propose_reset(owed.kind, owed.period, now);
    const Millis latest = latest_reset(owed.period, now);
    if (repair) {
        return writer.repair(key, now, proposed, latest, with_text);
    }
    if (owed.cost < 0) {
        return writer.refund(key, -owed.cost, owed.reset, with_text);
    }
    // The increment must arrive while the window is open, whatever the network does to it on the way.
    const Millis margin = std::max<Millis>(1000, 2 * static_cast<Millis>(charges->store_.check_timeout));
    plain = plain && owed.reset - now >= margin;
    return plain ? writer.increment(key, owed.cost)
                 : writer.charge(key, owed.cost, now, proposed, latest, with_text);
}

void Charges::ChargeCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered) {
        const Fault fault = fault_of(*reply);
        if (fault == Fault::none) {
            taken(node, *reply);
        } else {
            refused(node, fault);
        }
        return;
    }
    // Of a repair nothing is left to do: the charge itself was answered, and a window without a reset is
    // opened anew by its next charge.
    if (repair) {
        charges->settle(owed);
    } else if (delivery == Delivery::unsent) {
        come_back();
    } else {
        charges->doubt(owed);
    }
    end();
}

/// The last thing done with a command. The next batch may use it again at once.
void Charges::ChargeCommand::end() noexcept {
    Charges& owner = *charges;
    const bool was_batched = batched;
    --owner.under_way_;
    free_list().give_back(*this);
    if (was_batched) {
        owner.batched_ended();
    }
}

/// It waits, once more if it did before; then its window may have closed meanwhile.
void Charges::ChargeCommand::come_back() noexcept {
    if (batched && owed.reset <= now_millis()) {
        charges->drop(owed, closed_reason);
    } else {
        charges->wait(key, owed);
    }
}

void Charges::ChargeCommand::again(Node& node) noexcept {
    node.submit(*this);
}

void Charges::ChargeCommand::refused(Node& node, Fault fault) noexcept {
    if (fault != Fault::noscript || with_text) {
        node.failed(fault);
    }
    if (fault == Fault::noscript && !with_text) {
        with_text = true;
        again(node);
    } else if (fault == Fault::other && plain) {
        plain = false;  // the field holds no number: the script opens the window anew
        again(node);
    } else if (is_node_fault(fault)) {
        if (repair) {
            charges->settle(owed);
        } else {
            come_back();
        }
        if (refuses_writes(fault)) {
            charges->pause(explain(fault));
        } else {
            node.refuse(fault);
        }
        end();
    } else {
        if (repair) {
            charges->settle(owed);
        } else {
            charges->drop(owed, explain(fault));
        }
        end();
    }
}

void Charges::ChargeCommand::taken(Node& node, const Reply& reply) noexcept {
    node.served();
    charges->taken();
    Window answer{0, owed.reset};
    const bool increment = plain && !repair;
    const Fault fault = increment ? read_increment(reply, answer.used) : read_charge(reply, answer);
    if (fault != Fault::none) {
        node.failed(fault);
    }
    if (increment && fault == Fault::none && answer.used == owed.cost) {
        repair = true;  // the key may not have been there: it needs a reset and an expiry
        again(node);
        return;
    }
    if (fault == Fault::none) {
        charges->confirm(owed, answer);
    } else {
        charges->settle(owed);
    }
    end();
}

Charges::Charges(const StoreConf& store, std::string_view shard, Node& primary, Report& report) noexcept
    : store_(store),
      primary_(primary),
      report_(report),
      waiting_(*store.zone, shard_digest(store.name, shard)) {
    retry_.data = this;
    retry_.handler = on_retry;
    retry_.log = ngx_cycle->log;
    retry_.cancelable = 1;
}

/// They are not on their way any more.
void Charges::settle(const Owed& owed) noexcept {
    if (owed.cost < 0) {
        return;  // a refund is never on its way in the memory's sense
    }
    const Millis now = now_millis();
    store_.zone->windows().change(owed.id, [&](WindowRecord& record) {
        rate_limit::settle(record, owed.receipt.ticket, owed.charges, now);
    });
}

void Charges::confirm(const Owed& owed, const Window& answer) noexcept {
    const Millis now = now_millis();
    if (owed.cost < 0) {
        store_.zone->windows().change(owed.id, [&](WindowRecord& record) { confirm_refund(record, answer); });
        return;
    }
    store_.zone->windows().change(owed.id, [&](WindowRecord& record) {
        rate_limit::confirm(record, owed.receipt, owed.charges, owed.period, now, answer);
    });
}

void Charges::charge(const Charge& charge) noexcept {
    try {
        ChargeCommand& command = ChargeCommand::take();
        command.charges = this;
        command.key.assign(charge.key);
        command.owed = charge.owed;
        ++under_way_;
        if (paused_) {
            command.answered(primary_, Delivery::unsent, nullptr);
            return;
        }
        command.plain = charge.open && primary_.ready();
        primary_.submit_soon(command);
    } catch (...) {
        drop(charge.owed, "no memory");
    }
}

void Charges::refund(std::string_view key, const Reservation& reservation, std::int64_t cost,
                     Millis reset) noexcept {
    store_.zone->windows().change(reservation.id, [&](WindowRecord& record) {
        if (record.reset == reset && record.confirmed) {
            record.used = std::max<std::int64_t>(0, record.used - cost);
        }
    });
    Charge back;
    back.key = key;
    back.owed.cost = -cost;
    back.owed.period = reservation.rate.period;
    back.owed.kind = reservation.kind;
    back.owed.reset = reset;
    back.owed.id = reservation.id;
    charge(back);
}

void Charges::wait(const std::string& key, Owed owed) noexcept {
    report_.changed();
    const Millis now = now_millis();
    if (owed.cost < 0 && owed.reset <= now) {
        drop(owed, closed_reason);
        return;
    }
    if (owed.reset <= now) {
        owed.reset = propose_reset(owed.kind, owed.period, now);
    }
    try {
        WaitingCharges::Added added = waiting_.add(key, owed, now);
        if (!added.kept && waiting_.full_here() && now - swept_ >= 1000) {
            drop_closed(now);
            added = waiting_.add(key, owed, now);
        }
        if (added.closed.charges != 0) {
            drop(added.closed, closed_reason);
        }
        if (!added.kept) {
            drop(owed, "too many windows wait for the primary");
        }
    } catch (...) {
        drop(owed, "no memory");
    }
}

void Charges::pause(const char* reason) noexcept {
    if (paused_ && retry_.timer_set) {
        return;
    }
    paused_ = true;
    set_timer(retry_, backoff_.next(static_cast<std::uint32_t>(ngx_random())));
    std::uint64_t suppressed = 0;
    if (pause_log_.pass(suppressed)) {
        pause_logged_ = true;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: primary %s of \"%s\" refuses charges: %s; those of %uz windows wait",
                      primary_.name(), store_.name.c_str(), reason, waiting());
    }
}

void Charges::on_retry(ngx_event_t* event) noexcept {
    static_cast<Charges*>(event->data)->send_waiting();
}

void Charges::taken() noexcept {
    backoff_.reset();
    if (paused_) {
        paused_ = false;
        clear_timer(retry_);
        send_waiting();  // unless a batch is under way, whose end does
    }
    if (pause_logged_) {
        pause_logged_ = false;
        ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
                      "rate limit: primary %s of \"%s\" takes charges again", primary_.name(),
                      store_.name.c_str());
    }
}

void Charges::batched_ended() noexcept {
    if (--batched_ == 0) {
        send_waiting();
    }
}

void Charges::send_waiting() noexcept {
    if (batched_ != 0 || !primary_.usable() || (paused_ && retry_.timer_set)) {
        return;
    }
    const Millis now = now_millis();
    const std::size_t most = paused_ ? 1 : max_batch;
    std::size_t sent = 0;
    ++batched_;  // held until all are submitted: the batch must not end, and the next begin, within this loop
    while (sent < most) {
        try {
            ChargeCommand& command = ChargeCommand::take();
            if (!waiting_.take(command.key, command.owed)) {
                ChargeCommand::give_back(command);
                break;
            }
            if (command.owed.reset <= now) {
                const Owed closed = command.owed;
                ChargeCommand::give_back(command);
                drop(closed, closed_reason);
                continue;
            }
            command.charges = this;
            command.batched = true;
            ++under_way_;
            store_.zone->windows().change(command.owed.id,
                                          [now](WindowRecord& record) { resend(record, now); });
            ++batched_;
            ++sent;
            primary_.submit(command);
        } catch (...) {
            break;  // without memory it goes on waiting
        }
        if (!primary_.ready()) {
            break;
        }
    }
    --batched_;
    if (sent == 0) {
        paused_ = false;  // nothing waits that could show whether charges are taken: the next one will
    } else {
        report_.changed();
    }
}

void Charges::drop_closed(Millis now) noexcept {
    swept_ = now;
    waiting_.take_closed(now, [this](const Owed& owed) { drop(owed, closed_reason); });
}

void Charges::drop(const Owed& owed, const char* reason) noexcept {
    settle(owed);
    if (owed.cost < 0 && owed.reset <= now_millis()) {
        return;  // nobody wants anything back of a window that has ended
    }
    dropped_ += owed.charges;
    report_.changed();
    std::uint64_t suppressed = 0;
    if (drop_log_.pass(suppressed)) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: %uL charges for primary %s of \"%s\" were dropped: %s (%uL "
                      "dropped so far)",
                      owed.charges, primary_.name(), store_.name.c_str(), reason, dropped_);
    }
}

void Charges::doubt(const Owed& owed) noexcept {
    settle(owed);
    if (owed.cost < 0) {
        refunds_in_doubt_ += owed.charges;
        log_doubt("refunds", owed.charges, refunds_in_doubt_, "they are in doubt and not sent again");
    } else {
        in_doubt_ += owed.charges;
        log_doubt("charges", owed.charges, in_doubt_, "they are in doubt and not sent again");
    }
}

void Charges::doubt_reservation() noexcept {
    ++reservations_in_doubt_;
    log_doubt("reservations", 1, reservations_in_doubt_,
              "they are in doubt, clients may have been charged for nothing");
}

void Charges::log_doubt(const char* what, std::uint64_t count, std::uint64_t so_far,
                        const char* verdict) noexcept {
    report_.changed();
    std::uint64_t suppressed = 0;
    if (doubt_log_.pass(suppressed)) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: %uL %s for primary %s of \"%s\" were sent and not answered: %s (%uL in "
                      "doubt so far)",
                      count, what, primary_.name(), store_.name.c_str(), verdict, so_far);
    }
}

void Charges::log_lost() noexcept {
    if (waiting_.here() != 0) {
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: the worker leaves while charges of %uz windows wait for primary %s of "
                      "\"%s\" that found no room in \"rate_limit_zone\": they are lost",
                      waiting_.here(), primary_.name(), store_.name.c_str());
    }
}

}  // namespace rate_limit
