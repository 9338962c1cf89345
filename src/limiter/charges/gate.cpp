#include "limiter/charges/gate.h"

#include "redis/server_words.h"

namespace rate_limit {

namespace {

/// A server that refuses a command so may take others.
constexpr bool is_of_command(Fault fault) noexcept {
    return fault == Fault::noperm || fault == Fault::nolua;
}

}  // namespace

Gate::Gate(Nodes& nodes, const std::string& subject, bool in_cluster, Owner& owner) noexcept
    : nodes_(nodes), in_cluster_(in_cluster), owner_(owner), refusals_(subject, "takes charges again") {}

/// A probe waits until the next try is due.
bool Gate::may_probe() const noexcept {
    return state_ == State::closed && nodes_.primary().usable() && nodes_.primary().takes_writes() &&
           !pauses();
}

void Gate::change_primary(bool first) noexcept {
    if (!first) {
        state_ = State::closed;  // a probe that is on its way tells nothing of the new primary
    }
    needs_ = Proof::other;
    proven_.reset();
    command_refused_.reset();
    refusals_.ended("is not asked any more");
    backoff_.reset();
    retry_.clear();
}

bool Gate::begin_pause() noexcept {
    if (pauses()) {
        return false;
    }
    holds_buckets_ = false;
    retry_.set(backoff_.next(random_bits()));
    return true;
}

bool Gate::pause() noexcept {
    const bool begins = begin_pause();
    holds_buckets_ = true;
    return begins;
}

void Gate::refused(Fault fault, std::string_view command, const Reply& reply, Proof needs) noexcept {
    needs_ = Proof::other;
    if (is_of_command(fault)) {
        needs_ = needs;
        command_refused_ = msec_now();
    }
    if (!begin_pause()) {
        return;
    }
    try {
        const std::string words = server_words(command, reply.text_view());
        refusals_.failed("refuses charges", explain(fault),
                         in_cluster_ ? nodes_.primary().name() + ": " + words : words);
    } catch (...) {
        refusals_.failed("refuses charges", explain(fault));
    }
    if (fault == Fault::readonly) {
        nodes_.primary().demote();
    }
}

bool Gate::prove(Proof proof) noexcept {
    proven_ = msec_now();
    if (proof < needs_) {
        return false;
    }
    const bool opens = !is_open();
    if (opens) {
        state_ = State::open;
        needs_ = Proof::other;
        nodes_.primary().promote();
        retry_.clear();
        refusals_.ended();
    }
    const bool flaps = command_refused_ && msec_now() - *command_refused_ < remembered;
    if (!flaps && (opens || !pauses())) {
        backoff_.reset();
    }
    return opens;
}

void Gate::on_retry(void* self) noexcept {
    Gate& gate = *static_cast<Gate*>(self);
    if (gate.nodes_.primary().takes_writes()) {
        gate.owner_.on_gate();
    } else {
        gate.nodes_.primary().reconnect();  // and once it is usable, its shard sends charges
    }
}

}  // namespace rate_limit
