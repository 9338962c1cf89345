#include "limiter/charges/charge_command.h"

#include "limiter/worker.h"

namespace rate_limit {

ChargeCommand& ChargeCommand::take(Owner& owner) {
    ChargeCommand& command = FreeList<ChargeCommand>::common().take();
    command.owner = &owner;
    command.plain = false;
    command.waited = false;
    command.probe = false;
    command.repair = false;
    command.number = 0;
    command.earlier.reset();
    command.former.reset();
    command.begin_by_digest();
    return command;
}

std::string_view ChargeCommand::write(CommandWriter& writer) {
    if (owed.of_bucket()) {
        return writer.draw(key, draw_of(owed, now_millis()), with_text());
    }
    const Millis now = sent = now_millis();
    const Millis proposed = owed.reset > now ? owed.reset : propose_reset(owed.window_kind, owed.period, now);
    Opening opening{key, now, proposed, latest_reset(owed.period, now)};
    if (repair) {
        return writer.repair(opening, with_text());
    }
    if (owed.kind == DebtKind::refunds) {
        number = number == 0 ? owner->number_for(owed) : number;
        // A window by the clock that closed might be opened again before a second call comes.
        const bool stays = number != 0 && is_by_clock(owed.window_kind);
        return writer.refund(key, owed.cost, owed.reset, {worker_id(), number},
                             stays ? Emptied::stays : Emptied::closes, with_text());
    }
    // A probe goes as all that waits does; and the node that another names may have become the primary just
    // before.
    former = owner->confirmations().of_former(owed, redirected(), now);
    plain = plain && !probe && !redirected() && !former && owner->reaches(owed.reset, now);
    if (plain) {
        return writer.increment(key, owed.cost);
    }
    if (!former) {
        return writer.charge(opening, owed.cost, with_text());
    }
    opening.proposed = former->reset;
    return writer.charge(opening, owed.cost, with_text(), former->used);
}

void ChargeCommand::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    if (delivery == Delivery::answered) {
        const Fault fault = fault_of(*reply);
        if (!node.is_primary()) {
            answered_by_former(fault == Fault::none || stored_without_expiry(*reply));
        } else if (fault == Fault::none) {
            taken(node, *reply);
        } else {
            refused(node, fault, *reply);
        }
        return;
    }
    if (delivery == Delivery::unsent || repair) {
        give_up();
        owner->led_nowhere(node);
    } else {
        be_in_doubt(Doubt::untold);
    }
    end();
}

/// Perhaps the primary has taken it. A former one has, which perhaps was that no more.
void ChargeCommand::be_in_doubt(Doubt why) noexcept {
    if (number != 0 && owner->keep_unanswered(key, owed, number, why)) {
        number = 0;  // it is not this command's any more
        return;
    }
    owner->doubt(owed, why);
}

/// The last thing done with a command: the next batch may use it again at once.
void ChargeCommand::end() noexcept {
    Owner& of = *owner;
    const bool was_probe = probe;
    const std::uint32_t of_term = term;
    if (number != 0) {
        of.end_number(owed);
    }
    put_back(*this);
    of.ended(was_probe, of_term);
}

/// The primary has not taken it. A repair is not tried again: the charge itself was answered, and the next
/// charge opens a window without a reset anew.
void ChargeCommand::give_up() noexcept {
    if (repair) {
        owner->stop_awaiting(owed);
    } else if (earlier) {
        be_in_doubt(*earlier);
    } else {
        come_back();
    }
}

/// It waits in the backlog, where it may have waited before: its window may have closed meanwhile.
void ChargeCommand::come_back() noexcept {
    if (waited && owed.reset <= now_millis()) {
        owner->expire(owed);
    } else {
        owner->wait(key, owed);
    }
}

/// Another node has become the primary since this was sent: what this one took, that one may not have. What
/// it refused, that one can have.
void ChargeCommand::answered_by_former(bool took) noexcept {
    if (repair) {
        owner->stop_awaiting(owed);
    } else if (took) {
        be_in_doubt(Doubt::answered_by_former);
    } else {
        give_up();
    }
    end();
}

void ChargeCommand::refused(Node& node, Fault fault, const Reply& reply) noexcept {
    if (number != 0 && !earlier) {
        owner->end_number(owed);  // it was not done, and others of its window may overtake it
        number = 0;
    }
    if (send_again(node, reply)) {
        return;
    }
    const bool reopens = is_increment() && is_broken_count(reply);
    const bool told_later = reopens && fault == Fault::wrongtype;  // by the script
    const Blame blame = told_later ? Blame::command : node.blame(fault, name(), reply, Access::write);
    if (reopens) {
        plain = false;  // the script opens the window anew
        node.submit(*this);
        return;
    }
    // Charges of windows need none of the rights that the script of a refund, or of a bucket, may lack, and
    // do not wait behind those; nor behind a refund that was not answered, which would be tried first each
    // time.
    const bool alone = fault == Fault::noperm && (earlier || (!owed.moves_on() && lacks_right_within(reply)));
    if (blame == Blame::writes && !alone) {
        give_up();
        owner->refused(node, fault, name(), reply, proof());
    } else if (blame == Blame::node) {
        give_up();
    } else if (repair) {
        owner->stop_awaiting(owed);
    } else if (earlier || stored_without_expiry(reply)) {  // an earlier try may have been stored, or this one
        owner->doubt(owed, earlier.value_or(Doubt::untold));
    } else {
        owner->drop(owed, Loss::refused, explain(fault));
    }
    end();
}

void ChargeCommand::taken(Node& node, const Reply& reply) noexcept {
    node.served();
    owner->confirmations().prefetch(owed);
    Told told;
    told.window.reset = owed.reset;  // which an increment does not tell
    std::int64_t raised = 0;
    const Fault fault = is_increment() ? read_increment(reply, told.window.used)
                        : former       ? read_raise(reply, former->used, told.window, raised)
                                       : read_told(reply, told);
    if (fault != Fault::none) {
        node.blame(fault, name(), reply, Access::write);
    } else if (!repair) {
        owner->stored(owed);
    }
    // A refund writes nothing where there is no window, or a bucket is full: a replica says the same.
    if (owed.kind == DebtKind::charges || (told.wrote && told.window.used > 0)) {
        owner->proven(node, probe ? proof() : Gate::Proof::other);
    }
    if (is_increment() && fault == Fault::none && told.window.used == owed.cost) {
        repair = true;  // the key may not have been there: it needs a reset and an expiry
        node.submit(*this);
        return;
    }
    if (fault == Fault::none) {
        owner->confirm(owed, told);
        owner->confirmations().take(owed, told.window, sent, former, raised);
    } else if (repair) {
        owner->stop_awaiting(owed);
    } else {
        owner->doubt(owed, earlier.value_or(Doubt::untold));
    }
    end();
}

}  // namespace rate_limit
