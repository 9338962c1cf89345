#include "limiter/charges/charges.h"
#include "redis/server_words.h"

// When the primary is sent charges at all: see Charges.

namespace rate_limit {

void Charges::close_gate() noexcept {
    gate_ = gate_ == Gate::open ? Gate::closed : gate_;
    while (ChargeCommand* command = queued_.pop()) {
        wait(command->key, command->owed);
        ChargeCommand::put_back(*command);
    }
    nodes_.primary().expect_more(false);
}

void Charges::change_primary() noexcept {
    if (term_ != 0) {
        close_gate();
        gate_ = Gate::closed;  // a probe that is on its way tells nothing of the new primary
    }
    ++term_;
    way_ = in_cluster_ ? NumberedWindows::alone : numbered_.new_way();
    under_way_ = 0;
    refusals_.ended("is not asked any more");
    backoff_.reset();
    retry_.clear();
    send_batch();
}

/// A probe waits until the next try is due.
bool Charges::may_probe() const noexcept {
    return gate_ == Gate::closed && nodes_.primary().usable() && nodes_.primary().takes_writes() &&
           !retry_.armed();
}

void Charges::suspect_primary() noexcept {
    close_gate();
    if (!retry_.armed()) {
        retry_.set(backoff_.next(random_bits()));
    }
}

void Charges::refused(const Node& node, Fault fault, std::string_view command, const Reply& reply) noexcept {
    if (&node != &nodes_.primary()) {
        led_nowhere(node);
        return;
    }
    close_gate();
    waiting_.move_on();
    if (retry_.armed()) {
        return;
    }
    retry_.set(backoff_.next(random_bits()));
    try {
        const std::string words = server_words(command, reply.text_view());
        refusals_.failed("refuses charges", explain(fault), in_cluster_ ? node.name() + ": " + words : words);
    } catch (...) {
        refusals_.failed("refuses charges", explain(fault));
    }
    if (fault == Fault::readonly) {
        nodes_.primary().demote();
    }
}

/// The gate stays open: of what else the primary serves that says nothing.
void Charges::led_nowhere(const Node& node) noexcept {
    if (&node != &nodes_.primary() && node.is_primary() && !retry_.armed()) {
        waiting_.move_on();
        retry_.set(backoff_.next(random_bits()));
    }
}

void Charges::on_retry(void* self) noexcept {
    Charges& charges = *static_cast<Charges*>(self);
    if (charges.nodes_.primary().takes_writes()) {
        charges.send_batch();
    } else {
        charges.nodes_.primary().reconnect();  // and once it is usable, send_batch()
    }
}

void Charges::open_gate() noexcept {
    gate_ = Gate::open;
    nodes_.primary().promote();
    backoff_.reset();
    retry_.clear();
    refusals_.ended();
    send_batch();  // does nothing while a batch is under way: its end sends the next
}

}  // namespace rate_limit
