#include "ngx/wire/node.h"

#include <utility>

#include "ngx/base/lateness.h"
#include "ngx/base/zone.h"
#include "ngx/conf/address.h"
#include "redis/server_words.h"

namespace rate_limit {

namespace {

/// `primary ADDRESS of shard "NAME" of "STORE"`, or `sentinel ADDRESS of "STORE"`.
std::string subject_of(const StoreConf& store, const NodeConf& conf, const ShardConf* shard, Role role) {
    std::string subject = role == Role::primary    ? "primary "
                          : role == Role::sentinel ? "sentinel "
                                                   : "replica ";
    subject.append(conf.text);
    if (shard != nullptr) {
        subject.append(" of shard \"").append(shard->name).append("\"");
    }
    return subject.append(" of \"").append(store.name).append("\"");
}

/// Nodes that come and go are counted together: the counters have names from the configuration alone.
Subject counted_as(const StoreConf& store, const ShardConf* shard, const NodeConf& conf) {
    return {store.name, shard != nullptr ? std::string_view(shard->name) : std::string_view(),
            conf.learned ? std::string_view(any_node) : std::string_view(conf.text)};
}

}  // namespace

Node::Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener)
    : store_(store),
      shard_(shard),
      conf_(std::move(conf)),
      role_(role),
      subject_(subject_of(store, conf_, shard_, role)),
      listener_(listener),
      errors_(store.zone->counters(), counted_as(store, shard, conf_)),
      connection_(*this, store.tls, conf_.peer),
      addresses_(store, conf_, *this),
      outages_(subject_, "is up again",
               role == Role::sentinel && conf_.learned ? NGX_LOG_NOTICE : NGX_LOG_ERR),
      answers_(subject_) {
    if (role == Role::sentinel) {
        connection_.record_trees();
    }
}

void Node::submit(Command& command) noexcept {
    if (!up_ || ended_) {
        command.answered(*this, Delivery::unsent, nullptr);
        return;
    }
    if (state_ == State::ready) {
        if (!send(command)) {
            command.answered(*this, Delivery::unsent, nullptr);
        }
        return;
    }
    unsent_.push(command);
    if (state_ == State::idle) {
        connect();
    }
}

/// Tries every address once, the last good one first.
void Node::connect() noexcept {
    addresses_.begin_round();
    if (addresses_.known()) {
        try_address();
    } else {
        find_address();
    }
}

/// It is known by a name alone, from a sentinel or another node.
void Node::find_address() noexcept {
    state_ = State::connecting;
    retry_.keep_worker(!unsent_.empty());
    retry_.set(store_.connect_timeout);
    if (!addresses_.resolve()) {
        mark_down(R"(its name cannot be resolved: add "resolver" to "http")");
    }
}

void Node::on_resolved() noexcept {
    if (state_ != State::connecting || connection_.is_open()) {
        return;
    }
    if (addresses_.known()) {
        try_address();
    } else {
        mark_down("its name does not resolve");
    }
}

void Node::try_address() noexcept {
    for (;;) {
        state_ = State::connecting;
        const char* reason = connection_.open(addresses_.current(), ngx_cycle->log);
        if (reason == nullptr) {
            retry_.keep_worker(!unsent_.empty());
            retry_.set(store_.connect_timeout);
            return;
        }
        if (!addresses_.next_of_round()) {
            mark_down(addresses_.reason_of_round(reason, connection_.broke_handshake()));
            return;
        }
    }
}

/// False when the command could not be handed to the connection: it is the caller's again, and the connection
/// ends, or the next try would fail in the same way.
bool Node::send(Command& command) noexcept {
    bool taken = false;
    try {
        taken = connection_.send(command.encode(writer_));
    } catch (...) {
    }
    if (!taken) {
        up_ = false;
        connection_.close("it takes no more commands");
        return false;
    }
    const bool was_idle = sent_.empty();
    command.sent_ = ngx_current_msec;
    command.excused_ = false;
    sent_.push(command);
    if (was_idle) {
        mark_idle();
    }
    watch();
    return true;
}

void Node::send_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    while (Command* command = waiting.pop()) {
        if (command->wanted()) {
            submit(*command);
        } else {
            command->answered(*this, Delivery::unsent, nullptr);
        }
    }
    mark_idle();
}

void Node::return_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    mark_idle();
    while (Command* command = waiting.pop()) {
        command->answered(*this, Delivery::unsent, nullptr);
    }
}

void Node::on_reply(const Reply& reply) noexcept {
    Command* command = take_sent();
    if (command == nullptr || reply.stray) {
        // One answer too many: from here on every answer would go to the wrong command.
        up_ = false;
        if (command != nullptr) {
            command->answered(*this, Delivery::in_doubt, nullptr);
        }
        connection_.close("an answer that no command waits for");
        return;
    }
    command->answered(*this, Delivery::answered, &reply);
    leave_if_drained();
}

/// The oldest command that waits for its answer, or null.
Command* Node::take_sent() noexcept {
    Command* command = sent_.pop();
    if (sent_.empty()) {
        mark_idle();
    }
    return command;
}

/// nginx may close a connection on which nothing waits, and a worker may leave that waits for no answer.
void Node::mark_idle() noexcept {
    connection_.set_idle(sent_.empty() && unsent_.empty() && !expects_more_);
    watch_.keep_worker(!sent_.empty());
}

void Node::mark_up() noexcept {
    if (retired_) {
        return;
    }
    up_ = true;
    retry_.clear();
    watch_.clear();  // nothing is unanswered: it must not wait for an older command's charge_timeout
    outages_.ended();
    send_unsent();
    listener_.on_usable(*this);
}

Blame Node::blame(Fault fault, std::string_view command, const Reply& reply, Access access) noexcept {
    count_error(fault, command, reply);
    if (!is_node_fault(fault)) {
        return Blame::command;
    }
    if (access == Access::write && refuses_writes(fault)) {
        return Blame::writes;
    }
    if (up_) {
        suspend_by(fault, command, reply);
    }
    return Blame::node;
}

void Node::suspend_by(Fault fault, std::string_view command, const Reply& reply) noexcept {
    try {
        suspend(explain(fault), server_words(command, reply.text_view()));
    } catch (...) {
        suspend(explain(fault));
    }
}

/// Counts an error answer, and tells it where nothing else does.
void Node::count_error(Fault fault, std::string_view command, const Reply& reply) noexcept {
    errors_.add(error_of(fault));
    if (!is_node_fault(fault)) {
        may_reconnect_ = true;
        answers_.add(fault, command, reply);  // others suspend the node, or close the gate of charges
    }
}

void Node::demote() noexcept {
    takes_writes_ = false;
    addresses_.resolve();
    listener_.on_demoted(*this);
    if (conf_.learned) {
        return;  // who named it is asked again
    }
    const bool named = !conf_.host.empty();
    if (!told_to_reload_ && (!named || store_.resolver == nullptr)) {
        told_to_reload_ = true;
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0,
                      "rate limit: %s is a replica now: unless the same address leads to the new primary "
                      "before long, %s",
                      subject_.c_str(),
                      named ? "reload nginx when the name leads there, or add \"resolver\" to \"http\""
                            : "name that one in \"shard\" and reload nginx, for an address without a name "
                              "cannot be resolved again");
    }
}

void Node::become(Role role) noexcept {
    if (role_ == role) {
        return;
    }
    role_ = role;
    takes_writes_ = true;  // as far as is known
    try {
        subject_ = subject_of(store_, conf_, shard_, role);
    } catch (...) {
        // without memory the log calls it what it was
    }
    const bool greeted = state_ == State::ready || state_ == State::greeting || state_ == State::suspended;
    if (role == Role::primary && greeted) {
        prepare_for_writes();
    }
}

bool Node::is_at(const NodeConf& conf) const noexcept {
    return conf_.text == conf.text || share_address(conf_, conf);
}

void Node::retire() noexcept {
    retired_ = true;
    up_ = false;
    expects_more_ = false;
    retry_.clear();
    addresses_.stop();
    return_unsent();
    if (!connection_.is_open()) {
        state_ = State::down;
        listener_.on_end(*this);
    } else if (sent_.empty()) {
        connection_.close("it is not needed any more");
    }
}

void Node::reconnect() noexcept {
    if (ended_ || retired_) {
        return;
    }
    if (state_ == State::idle) {
        connect();
    } else if (connection_.is_open()) {
        leaving_ = true;
        state_ = state_ == State::ready ? State::draining : state_;
        leave_if_drained();
    }
}

/// Closes a connection that is to be left, once nothing on it is unanswered.
void Node::leave_if_drained() noexcept {
    if (retired_ && sent_.empty()) {
        connection_.close("it is not needed any more");
        return;
    }
    if (leaving_ && sent_.empty() && up_ && (state_ == State::draining || state_ == State::ready)) {
        state_ = State::draining;
        addresses_.skip();  // where a name has several, another one may be the primary
        connection_.close("it is left for a new connection");
    }
}

void Node::read_now() noexcept {
    if (!sent_.empty()) {
        connection_.read_now();
    }
}

/// The connection stays, so that what was sent still gets its answers; nothing new is sent but a probe.
void Node::suspend(std::string_view reason, std::string_view words) noexcept {
    if (retired_) {
        return;
    }
    up_ = false;
    state_ = State::suspended;
    log_outage("does not serve", reason, words);
    listener_.on_unusable(*this);
    return_unsent();
    retry_.keep_worker(false);
    retry_.set(backoff_.next(static_cast<std::uint32_t>(ngx_random())));
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
        errors_.add(NodeError::connection);
    }
    log_outage("is down", reason, refusal_);
    refusal_.clear();
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
    retry_.set(backoff_.next(static_cast<std::uint32_t>(ngx_random())));
}

/// Whether the loss of the connection is no failure: nothing was unanswered on it, or it is the first loss
/// since the server answered a command.
bool Node::goes_on_without(bool in_flight) noexcept {
    if (!up_ || ended_ || (state_ != State::ready && state_ != State::draining)) {
        return false;
    }
    if (in_flight && !quiet_) {
        errors_.add(NodeError::connection);
        const bool first =
            std::exchange(may_reconnect_, false) && ngx_current_msec - made_good_ >= Backoff::first_wait;
        made_good_ = first ? ngx_current_msec : made_good_;
        return first;
    }
    return true;
}

void Node::on_closed(const char* reason) noexcept {
    retry_.clear();
    takes_writes_ = true;  // as far as is known of the next connection
    const bool leaving = std::exchange(leaving_, false);
    const bool left = leaving && state_ == State::draining && sent_.empty();
    if (left && up_ && !ended_ && !quiet_) {
        connect();  // what was submitted meanwhile waits for that
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
        command->answered(*this, Delivery::in_doubt, nullptr);
    }
    if (again) {
        if (leaving && state_ == State::idle) {
            connect();  // as it was to be: perhaps nobody else asks this node for anything
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
        watch_.set(ngx_min(store_.check_timeout, store_.charge_timeout));
    }
}

/// How long the oldest command has waited for its answer.
ngx_msec_t Node::oldest_age() const noexcept {
    return sent_.empty() ? 0 : ngx_current_msec - sent_.head()->sent_;
}

void Node::on_watch(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    const ngx_msec_t check_timeout = node.store_.check_timeout;
    const ngx_msec_t earliest = ngx_min(check_timeout, node.store_.charge_timeout);
    const ngx_msec_t grace = grace_after(node.watch_, check_timeout);
    if (node.oldest_age() >= earliest) {
        node.read_now();  // the answer may have come while this worker was busy
    }
    if (node.sent_.empty() || node.watch_.armed()) {
        return;
    }
    const ngx_msec_t age = node.oldest_age();
    if (age >= earliest && grace != 0 && !std::exchange(node.sent_.head()->excused_, true)) {
        node.watch_.set(grace);
        return;
    }
    if (age >= node.store_.charge_timeout) {
        node.connection_.close("no answer in charge_timeout");
        return;
    }
    if (age >= check_timeout && node.state_ != State::suspended && !node.retired_) {
        node.errors_.add(NodeError::silent);
        node.suspend("no answer in check_timeout");
        node.greet_with(node.ping_);
    }
    node.watch_.set((age < check_timeout ? earliest : node.store_.charge_timeout) - age);
}

void Node::log_outage(const char* what, std::string_view reason, std::string_view words) noexcept {
    if (!ended_ && !quiet_) {
        outages_.failed(what, reason, words);
    }
}

void Node::shut_down() noexcept {
    ended_ = true;
    up_ = false;
    addresses_.stop();
    connection_.write_now();
    connection_.close("the worker is leaving");
    return_unsent();
    watch_.clear();
    retry_.clear();
}

}  // namespace rate_limit
