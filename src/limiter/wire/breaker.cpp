#include <utility>

#include "limiter/turn_clock.h"
#include "limiter/wire/node.h"
#include "redis/server_words.h"

// When a node is taken for down, and when for up again.

namespace rate_limit {

void Node::mark_up() noexcept {
    if (retired_) {
        return;
    }
    up_ = true;
    entry_.set_up(true);
    retry_.clear();
    watch_.clear();  // nothing is unanswered: it must not wait for an older command's charge_timeout
    outages_.ended();
    send_unsent();
    listener_.on_usable(*this);
}

void Node::suspend_by(Fault fault, std::string_view command, const Reply& reply) noexcept {
    try {
        suspend(explain(fault), server_words(command, reply.text_view()));
    } catch (...) {
        suspend(explain(fault));
    }
}

/// The connection stays, so that what was sent still gets its answers; nothing new is sent but a probe.
void Node::suspend(std::string_view reason, std::string_view words) noexcept {
    if (retired_) {
        return;
    }
    up_ = false;
    entry_.set_up(false);
    state_ = State::suspended;
    log_outage("does not serve", reason, words);
    listener_.on_unusable(*this);
    return_unsent();
    retry_.keep_worker(false);
    retry_.set(backoff_.next(random_bits()));
}

void Node::mark_down(const char* reason) noexcept {
    up_ = false;
    state_ = State::down;
    if (retired_) {
        return_unsent();
        listener_.on_end(*this);
        return;
    }
    if (!ended_ && !quiet_) {
        entry_.count(NodeError::connection);
        entry_.set_up(false);
    }
    log_outage("is down", reason, refusal_.empty() ? only_words_ : refusal_);
    refusal_.clear();
    only_words_.clear();
    if (ended_) {
        return_unsent();
        return;
    }
    if (!quiet_) {
        listener_.on_unusable(*this);
    }
    return_unsent();
    addresses_.resolve();
    retry_.keep_worker(false);
    retry_.set(backoff_.next(random_bits()));
}

/// Whether the loss of the connection is no failure: nothing was unanswered on it, or it is the first loss
/// since the server answered a command.
bool Node::goes_on_without(bool in_flight) noexcept {
    if (!up_ || ended_ || (state_ != State::ready && state_ != State::draining)) {
        return false;
    }
    if (in_flight && !quiet_) {
        entry_.count(NodeError::connection);
        const bool first =
            std::exchange(may_reconnect_, false) && msec_now() - made_good_ >= Backoff::first_wait;
        made_good_ = first ? msec_now() : made_good_;
        return first;
    }
    return true;
}

void Node::on_closed(const char* reason) noexcept {
    retry_.clear();
    takes_writes_ = true;  // nothing else is known of the next connection
    const bool leaving = std::exchange(leaving_, false);
    const bool left = leaving && state_ == State::draining && sent_.empty();
    const bool renamed = std::exchange(renamed_, false) && !retired_;
    if (((left && up_) || renamed) && !ended_ && !quiet_) {
        while (Command* command = take_sent()) {
            give_back(*command, Delivery::in_doubt, nullptr);  // a command of the greeting
        }
        connect();  // commands submitted meanwhile wait for that
        return;
    }
    const bool again = goes_on_without(!sent_.empty());
    // Commands that come back may be submitted again: this node must take them only if it goes on.
    const bool fails = !sent_.empty() && !again;
    up_ = up_ && !fails;
    if (again) {
        state_ = State::idle;
        addresses_.resolve();
        return_unsent();  // another server may answer on the next connection: owners decide anew
    }
    while (Command* command = take_sent()) {
        give_back(*command, Delivery::in_doubt, nullptr);
    }
    if (again) {
        if (leaving && state_ == State::idle) {
            connect();  // the new connection was due: perhaps nobody else asks this node for anything
        }
        return;
    }
    if (state_ == State::connecting) {
        reason = addresses_.reason_of_round(reason, connection_.broke_handshake());
        if (!ended_ && !retired_ && !quiet_ && addresses_.next_of_round()) {
            try_address();
            return;
        }
    }
    if (state_ == State::greeting || state_ == State::suspended) {
        addresses_.skip();  // this address takes connections and does not answer
    }
    mark_down(reason);
}

void Node::on_close_idle() noexcept {
    quiet_ = true;
    connection_.close("the worker is leaving");
    quiet_ = false;
}

void Node::on_retry(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    switch (node.state_) {
        case State::connecting:
            if (!node.connection_.is_open()) {
                node.mark_down("its name was not resolved within connect_timeout");
                break;
            }
            node.connection_.close(node.connection_.shakes_hands()
                                       ? "the TLS handshake took longer than connect_timeout"
                                       : "connecting took longer than connect_timeout");
            break;
        case State::suspended:
            node.greet_with(node.ping_);
            break;
        case State::down:
            node.connect();
            break;
        default:
            break;
    }
}

/// One timer over the unanswered commands, oldest first: they are answered in the order they were sent.
void Node::watch() noexcept {
    if (!watch_.armed()) {
        watch_.set(std::min(store_.check_timeout, store_.charge_timeout));
    }
}

/// How long the oldest command has waited for its answer.
Msec Node::oldest_age() const noexcept {
    return sent_.empty() ? 0 : msec_now() - sent_.head()->sent_;
}

void Node::on_watch(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    const Msec check_timeout = node.store_.check_timeout;
    const Msec earliest = std::min(check_timeout, node.store_.charge_timeout);
    const Msec grace = grace_after(node.watch_, check_timeout);
    if (node.oldest_age() >= earliest) {
        node.read_now();  // the answer may have come while this worker was busy
    }
    if (node.sent_.empty() || node.watch_.armed()) {
        return;
    }
    const Msec age = node.oldest_age();
    if (age >= earliest && grace != 0 && !std::exchange(node.sent_.head()->excused_, true)) {
        node.watch_.set(grace);
        return;
    }
    if (age >= node.store_.charge_timeout) {
        node.connection_.close("no answer in charge_timeout");
        return;
    }
    if (age >= check_timeout && node.state_ != State::suspended && !node.retired_) {
        node.entry_.count(NodeError::silent);
        node.suspend("no answer in check_timeout");
        node.greet_with(node.ping_);
    }
    node.watch_.set((age < check_timeout ? earliest : node.store_.charge_timeout) - age);
}

void Node::log_outage(const char* what, std::string_view reason, std::string_view words) noexcept {
    if (ended_ || quiet_) {
        return;
    }
    if (role_ != Role::seed) {
        outages_.failed(what, reason, words);
        return;
    }
    try {
        trouble_.assign(reason);
        if (!words.empty()) {
            trouble_.append(": ").append(words);
        }
    } catch (...) {
        trouble_.clear();  // without memory it has none to tell
    }
}

}  // namespace rate_limit
