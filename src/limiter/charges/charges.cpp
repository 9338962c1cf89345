#include "limiter/charges/charges.h"

#include <algorithm>

#include "core/bucket/bucket_account.h"
#include "limiter/kinds/owed/demand.h"
#include "limiter/worker.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

std::string name_of(const StoreConf& store, const ShardConf& shard) {
    return shard.in_cluster     ? "the cluster of \"" + store.name + "\""
           : shard.discovered() ? "the primary of shard \"" + shard.name + "\" of \"" + store.name + "\""
                                : "primary " + shard.primary.text + " of \"" + store.name + "\"";
}

/// Later its number may be forgotten.
bool may_be_sent_again(const Debt& owed, std::int64_t number, Millis now) noexcept {
    return number / 1000 + numbered_life > now && owed.reset > now;
}

}  // namespace

Charges::Charges(const StoreConf& store, const ShardConf& shard, Nodes& nodes, ShardCounters& counters,
                 Route route, NumberedWindows& numbered, Guide& guide)
    : store_(store),
      subject_(name_of(store, shard)),
      in_cluster_(shard.in_cluster),
      nodes_(nodes),
      guide_(guide),
      counters_(counters),
      waiting_(*store.zone, store.routes, route, guide),
      numbered_(numbered),
      way_(in_cluster_ ? NumberedWindows::alone : numbered.new_way()),
      pause_(has_exact_timers() ? pause : 0),
      gate_(nodes, subject_, in_cluster_, *this),
      lost_(subject_, Counters<Loss>(store.zone->counters(), {store.name, shard.name, {}})),
      confirmations_(store, shard, nodes, counters, lost_) {}

void Charges::stop_awaiting(const Debt& owed) noexcept {
    if (!owed.moves_on()) {
        return;  // it is never on its way in the memory's sense
    }
    const Millis now = now_millis();
    store_.zone->windows().change(owed.id, [&](WindowRecord& record) {
        count_answered(record, owed.receipt.ticket, owed.charges, now);
    });
}

void Charges::stored(const Debt& owed) noexcept {
    counters_.writes.add(owed.kind == DebtKind::refunds ? Write::refunds_stored : Write::charges_stored,
                         owed.charges);
}

void Charges::confirm(const Debt& owed, const Told& told) noexcept {
    counters_.add(TokenEvent::lost, learn_taken(store_.zone->windows(), owed, told, now_millis()));
}

void Charges::given_back(const std::string& key, const GivingBack& what, const Window& answer) noexcept {
    if (what.all()) {
        waiting_.take_all(key, what.id, what.reset, [this](const Debt& owed) {
            stop_awaiting(owed);
            count_expired(owed);
        });
    }
    counters_.add(TokenEvent::lost, learn_given_back(*store_.zone, what, answer, waiting_for(what.id)));
    confirmations_.make_void(what);
}

void Charges::doubt_given_back(const GivingBack& what, Doubt why) noexcept {
    Debt owed;
    owed.kind = DebtKind::refunds;
    owed.id = what.id;
    doubt(owed, why);
    confirmations_.make_void(what);
}

void Charges::charge(const Charge& charge) noexcept {
    traffic_.add(msec_now());
    if (joins(charge)) {
        schedule_batch();
        return;
    }
    ChargeCommand* command = nullptr;
    try {
        command = &ChargeCommand::take(*this);
        command->key.assign(charge.key);
        command->owed = charge.owed;
        command->plain = charge.open;
        start(*command);
    } catch (...) {
        if (command != nullptr) {
            ChargeCommand::put_back(*command);
        }
        drop(charge.owed, Loss::no_memory);
    }
}

/// Throws std::bad_alloc, and then the command is still the caller's.
void Charges::start(ChargeCommand& command) {
    if (gate_.is_open() || (command.owed.of_bucket() && gate_.lets_buckets_pass())) {
        queued_.push(command);
        nodes_.primary().expect_more(true);
        schedule_batch();
    } else if (gate_.may_probe()) {
        gate_.begin_probe();
        command.probe = true;
        submit(command);
    } else {
        wait(command.key, command.owed);
        ChargeCommand::put_back(command);
    }
}

/// Adds the charge to one of the same window that is queued. False if there is none.
bool Charges::joins(const Charge& charge) noexcept {
    const Debt& owed = charge.owed;
    ChargeCommand* queued =
        queued_.find(owed.id, [&owed](const ChargeCommand& command) { return command.owed.joins(owed); });
    if (queued == nullptr) {
        return false;
    }
    queued->owed.join(owed);
    queued->owed.receipt = owed.receipt;
    queued->plain = queued->plain && charge.open;
    return true;
}

void Charges::refund(std::string_view key, const Demand& demand, std::int64_t cost, Millis reset) noexcept {
    store_.zone->windows().change(demand.id, [&](WindowRecord& record) {
        if (record.reset == reset && record.confirmed) {
            record.used = std::max<std::int64_t>(0, record.used - cost);
        }
    });
    refund_uncounted(key, demand, cost, reset);
}

void Charges::begin_anew(const WindowId& id, Millis reset) noexcept {
    lost_windows_.begin(id, reset);
    store_.zone->windows().change(id, [reset](WindowRecord& record) { note_lost(record, reset); });
}

void Charges::end_plain(const WindowId& id, std::int64_t cost) noexcept {
    store_.zone->windows().change(id, [cost](BucketRecord& record) { rate_limit::end_plain(record, cost); });
}

void Charges::refund_uncounted(std::string_view key, const Demand& demand, std::int64_t cost, Millis reset,
                               const BucketReceipt& receipt) noexcept {
    Charge back;
    back.key = key;
    back.owed = debt_of(demand, DebtKind::refunds, cost, reset);
    back.owed.receipt_of_bucket = receipt;
    charge(back);
}

void Charges::wait(const std::string& key, Debt owed) noexcept {
    const Millis now = now_millis();
    // A refund that counts only before others take something is not kept: they may have by then.
    if (owed.receipt_of_bucket.only_last || (!owed.moves_on() && owed.reset <= now)) {
        expire(owed);
        return;
    }
    if (owed.reset <= now) {
        owed.reset = propose_reset(owed.window_kind, owed.period, now);
    }
    const Backlog::Added added = waiting_.add(key, owed, now);
    if (added.closed) {
        expire(*added.closed);
    }
    if (!added.kept) {
        drop(owed, owed.kind == DebtKind::refunds ? Loss::refunds_no_room : Loss::no_room);
    }
}

/// A command has ended, perhaps the last of its batch. If the gate is still closed after a probe, the next
/// charge may probe.
void Charges::ended(bool probe, std::uint32_t term) noexcept {
    if (term != term_) {
        return;
    }
    if (probe) {
        gate_.end_probe();
    }
    --under_way_;
    if (!queued_.empty() || waiting_.count() != 0 || unanswered_.size() != 0) {
        schedule_batch();
    }
}

void Charges::submit(ChargeCommand& command) noexcept {
    ++under_way_;
    command.term = term_;
    nodes_.primary().submit(command);
}

/// Sets when the next batch leaves: at the end of this turn if the pause is over, if charges come too rarely
/// for a pause, or if some wait in the backlog. Else the first charge after the pause sends it, in the turn
/// that has sent its response, when a worker has most time. The timer is for the last charges of a burst; if
/// it fired with the pause, it would wake a worker for itself. While a batch is under way this does nothing:
/// the end of that one calls it again.
void Charges::schedule_batch() noexcept {
    if (under_way_ != 0) {
        return;
    }
    const Msec since = msec_now() - sent_;
    if (since < pause_ && traffic_.is_dense() && waiting_.count() == 0) {
        if (!batch_.armed()) {
            batch_.set(pause_ + grace - since);
        }
    } else {
        batch_.set_to_end_of_turn();  // with all charges of this turn
    }
}

/// No request has looked for another primary just before.
void Charges::on_batch(void* self) noexcept {
    Charges& charges = *static_cast<Charges*>(self);
    charges.guide_.follow();
    charges.send_batch();
}

void Charges::send_batch() noexcept {
    if (under_way_ != 0) {
        return;
    }
    batch_.clear();
    sent_ = msec_now();
    ++under_way_;  // one more until all are submitted, so that the batch cannot end within this function
    send_queued(max_batch);
    send_backlog();
    --under_way_;
}

void Charges::go_before(const WindowId& id) noexcept {
    if (queued_.empty()) {
        return;  // most reservations find nothing queued
    }
    while (ChargeCommand* command = queued_.take(id)) {
        send(*command);
    }
    nodes_.primary().expect_more(!queued_.empty());
}

/// Those of the same window that are not answered leave before a refund: their numbers are lower.
void Charges::send(ChargeCommand& command) noexcept {
    if (command.owed.kind == DebtKind::refunds) {
        const WindowId& id = command.owed.id;
        for (std::size_t most = unanswered_.size(); most != 0 && unanswered_.has(id); --most) {
            if (!send_unanswered(&id, false)) {
                break;  // the refund behind it goes without a number
            }
        }
    }
    command.plain = command.plain && nodes_.primary().ready();
    submit(command);
}

void Charges::send_queued(std::size_t most) noexcept {
    for (ChargeCommand* command = nullptr; most != 0 && (command = queued_.pop()) != nullptr; --most) {
        send(*command);
    }
    nodes_.primary().expect_more(!queued_.empty());
}

/// Sends the first unanswered refund of this window, or, where `id` is null, of any: it may be with the
/// primary. False without memory: it is tried again.
bool Charges::send_unanswered(const WindowId* id, bool probes) noexcept {
    try {
        ChargeCommand& command = ChargeCommand::take(*this);
        command.earlier = unanswered_.take(id, command.key, command.owed, command.number);
        command.probe = probes;
        if (probes) {
            gate_.begin_probe();
        }
        submit(command);
        return true;
    } catch (...) {
        return false;
    }
}

/// Some charges of the backlog go into this batch, or one charge of it as the probe; or those of buckets,
/// alone or behind the probe.
void Charges::send_backlog() noexcept {
    const bool probes = !gate_.is_trusted();
    // Charges of windows stay queued only while the gate is open, which it is not while a probe is on its
    // way.
    const bool may = gate_.is_open() ? !probes || queued_.empty() : gate_.may_probe();
    const bool tries = nodes_.primary().usable() && !gate_.pauses() && may;
    closing_ = false;
    if (tries) {
        send_waiting(Backlog::Which::all, probes ? 1 : max_waited, probes);
    }
    // Perhaps none of a window waits, which alone could open the gate.
    if (!closing_ && gate_.lets_waiting_buckets_pass() && (!tries || gate_.is_proven())) {
        send_waiting(Backlog::Which::of_buckets, gate_.is_proven() ? max_waited : 1, false);
    }
}

/// Null where none waits, or without memory: it goes on waiting then.
ChargeCommand* Charges::take_waiting(Backlog::Which which) noexcept {
    ChargeCommand* command = nullptr;
    try {
        command = &ChargeCommand::take(*this);
        if (waiting_.take(which, command->key, command->owed)) {
            return command;
        }
    } catch (...) {
    }
    if (command != nullptr) {
        ChargeCommand::put_back(*command);
    }
    return nullptr;
}

/// Refunds that were not answered are to windows, and go before all else.
void Charges::send_waiting(Backlog::Which which, std::size_t most, bool probes) noexcept {
    const Millis now = now_millis();
    std::size_t sent = 0;
    while (which == Backlog::Which::all && sent != most && unanswered_.size() != 0 &&
           send_unanswered(nullptr, probes)) {
        ++sent;
    }
    std::size_t closed = 0;
    while (sent < most && closed < max_closed) {
        ChargeCommand* command = take_waiting(which);
        if (command == nullptr) {
            break;
        }
        if (command->owed.reset <= now) {
            const Debt owed = command->owed;
            ChargeCommand::put_back(*command);
            expire(owed);
            ++closed;
            continue;
        }
        command->waited = true;
        command->probe = probes;
        if (probes) {
            gate_.begin_probe();
        }
        note_resent(store_.zone->windows(), command->owed, now);
        ++sent;
        submit(*command);
        if (!nodes_.primary().ready()) {
            break;
        }
    }
    closing_ = closed == max_closed;
    log_line(process_log(), LogLevel::debug, "rate limit: sent %zu that waited, expired %zu", sent, closed);
}

void Charges::drop(const Debt& owed, Loss loss, const char* why) noexcept {
    if (owed.kind == DebtKind::refunds && owed.reset <= now_millis()) {
        expire(owed);
        return;
    }
    stop_awaiting(owed);
    counters_.writes.add(owed.kind == DebtKind::refunds ? Write::refunds_dropped : Write::charges_dropped,
                         owed.charges);
    lost_.add(loss, owed.charges, why);
}

void Charges::count_expired(const Debt& owed) noexcept {
    counters_.writes.add(owed.kind == DebtKind::refunds ? Write::refunds_expired : Write::charges_expired,
                         owed.charges);
}

void Charges::expire(const Debt& owed) noexcept {
    stop_awaiting(owed);
    count_expired(owed);
    if (owed.kind != DebtKind::refunds) {
        lost_.add(Loss::expired, owed.charges);  // nobody wants anything back of what has ended
    }
}

void Charges::doubt(const Debt& owed, Doubt why) noexcept {
    stop_awaiting(owed);
    const bool back = owed.kind == DebtKind::refunds;
    count_in_doubt(back ? Loss::refunds_in_doubt : Loss::charges_in_doubt, owed.charges, why);
}

void Charges::count_in_doubt(Loss loss, std::uint64_t count, Doubt why) noexcept {
    lost_.add(loss, count);
    if (why == Doubt::answered_by_former) {
        lost_.add(Loss::answered_by_former, count);
    }
}

void Charges::close_gate() noexcept {
    gate_.close();
    confirmations_.primary_is_away();
    while (ChargeCommand* command = queued_.pop()) {
        wait(command->key, command->owed);
        ChargeCommand::put_back(*command);
    }
    nodes_.primary().expect_more(false);
}

void Charges::change_primary() noexcept {
    const bool first = term_ == 0;
    if (!first) {
        close_gate();
    }
    if (!first || in_cluster_) {  // where a slot is served from now on that another node has had
        confirmations_.change_primary();
    }
    ++term_;
    change_way();
    under_way_ = 0;
    gate_.change_primary(first);
    send_batch();
}

void Charges::suspect_primary() noexcept {
    close_gate();
    confirmations_.change_primary();
    gate_.pause();
}

void Charges::refused(Node& node, Fault fault, std::string_view command, const Reply& reply,
                      Gate::Proof needs) noexcept {
    if (&node != &nodes_.primary()) {
        if (refuses_writes(fault)) {  // not of the slot alone, which moves
            node.tell_answer(fault, command, reply);
        }
        led_nowhere(node);
        return;
    }
    close_gate();
    waiting_.move_on();
    gate_.refused(fault, command, reply, needs);
}

/// The gate stays open: of what else the primary serves that says nothing.
void Charges::led_nowhere(const Node& node) noexcept {
    if (&node != &nodes_.primary() && node.is_primary() && gate_.pause()) {
        waiting_.move_on();
    }
}

std::int64_t Charges::number_for(const Debt& owed) noexcept {
    const bool may = !worker_id().empty() && !unanswered_.has(owed.id) && numbered_.begin(owed.id, way_);
    return may ? next_number() : 0;
}

bool Charges::keep_unanswered(const std::string& key, const Debt& owed, std::int64_t number,
                              Doubt why) noexcept {
    const Millis now = now_millis();
    if (!may_be_sent_again(owed, number, now) || !unanswered_.add(key, owed, number, why)) {
        return false;
    }
    if (keeps_worker(number, now)) {
        store_.zone->note_unanswered();
    }
    return true;
}

std::size_t Charges::ask_again() noexcept {
    if (unanswered_.size() != 0) {
        give_up_unanswered(false);
        send_soon();
    }
    return unanswered_.size();
}

void Charges::give_up_unanswered(bool all) noexcept {
    const Millis now = now_millis();
    unanswered_.take_over_ones(
        [=](const Debt& owed, std::int64_t number) { return all || !may_be_sent_again(owed, number, now); },
        [&](const Debt& owed, Doubt why) {
            numbered_.end(owed.id);
            if (owed.reset > now) {
                doubt(owed, why);  // nobody wants anything back from a window that has ended
            }
        });
}

}  // namespace rate_limit
