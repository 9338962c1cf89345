#include "limiter/charges/charges.h"
#include "limiter/worker.h"
#include "limiter/zone.h"

// Refunds that were not answered, and are sent again: see UnansweredRefunds.

namespace rate_limit {

namespace {

/// Later its number may be forgotten.
bool may_be_sent_again(const Debt& owed, std::int64_t number, Millis now) noexcept {
    return number / 1000 + numbered_life > now && owed.reset > now;
}

}  // namespace

/// Refunds that may be with the primary, before what waits. Returns how many they are.
std::size_t Charges::send_unanswered(std::size_t most, bool probes) noexcept {
    std::size_t sent = 0;
    for (; sent != most && unanswered_.size() != 0; ++sent) {
        ChargeCommand* command = nullptr;
        try {
            command = &ChargeCommand::take(*this);
        } catch (...) {
            break;  // it is tried again
        }
        unanswered_.take(command->key, command->owed, command->number);
        command->again = true;
        command->probe = probes;
        if (probes) {
            gate_.begin_probe();
        }
        submit(*command);
    }
    return sent;
}

void Charges::send_unanswered_of(const WindowId& id) noexcept {
    for (std::size_t most = unanswered_.size(); most != 0 && unanswered_.has(id); --most) {
        try {
            ChargeCommand& command = ChargeCommand::take(*this);
            unanswered_.take_of(id, command.key, command.owed, command.number);
            command.again = true;
            submit(command);
        } catch (...) {
            return;  // the refund behind it goes without a number
        }
    }
}

std::int64_t Charges::number_for(const Debt& owed) noexcept {
    const bool may = !worker_id().empty() && !unanswered_.has(owed.id) && numbered_.begin(owed.id, way_);
    return may ? next_number() : 0;
}

bool Charges::keep_unanswered(const std::string& key, const Debt& owed, std::int64_t number) noexcept {
    const Millis now = now_millis();
    if (!may_be_sent_again(owed, number, now) || !unanswered_.add(key, owed, number)) {
        return false;
    }
    if (keeps_worker(number, now)) {
        store_.zone->note_unanswered();
    }
    return true;
}

std::size_t Charges::ask_again() noexcept {
    if (unanswered_.size() == 0) {
        return 0;
    }
    const Millis now = now_millis();
    unanswered_.take_over_ones(
        [now](const Debt& owed, std::int64_t number) { return !may_be_sent_again(owed, number, now); },
        [&](const Debt& owed) { give_up_unanswered(owed, now); });
    send_soon();
    return unanswered_.size();
}

void Charges::give_up_unanswered() noexcept {
    const Millis now = now_millis();
    unanswered_.take_over_ones([](const Debt&, std::int64_t) { return true; },
                               [&](const Debt& owed) { give_up_unanswered(owed, now); });
}

void Charges::give_up_unanswered(const Debt& owed, Millis now) noexcept {
    numbered_.end(owed.id);
    if (owed.reset > now) {
        doubt(owed);  // nobody wants anything back from a window that has ended
    }
}

}  // namespace rate_limit
