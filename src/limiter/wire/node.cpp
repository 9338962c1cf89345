#include "limiter/wire/node.h"

#include <strings.h>

#include <algorithm>
#include <utility>

#include "limiter/turn_clock.h"
#include "redis/script_reply.h"
#include "redis/server_words.h"

namespace rate_limit {

namespace {

/// Whether host and port are the same: one of them may have been written without the port.
bool same_name(const NodeConf& a, const NodeConf& b) noexcept {
    return !a.peer.empty() && a.port == b.port && a.peer.size() == b.peer.size() &&
           strncasecmp(a.peer.data(), b.peer.data(), a.peer.size()) == 0;
}

}  // namespace

Node::Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener,
           CommandSample* sample, Guide* guide)
    : store_(store),
      shard_(shard),
      conf_(std::move(conf)),
      listener_(listener),
      sample_(sample),
      guide_(guide),
      health_(store, shard, conf_, role),
      greeting_(store, shard, health_, *this),
      connection_(*this, store, conf_.peer),
      addresses_(store, conf_, *this) {
    expect_next();
}

void Node::submit(Command& command) noexcept {
    if (!usable()) {
        give_back(command, Delivery::unsent, nullptr);
        return;
    }
    if (link_ == Link::open) {
        if (!send(command)) {
            give_back(command, Delivery::unsent, nullptr);
        } else if (shard_ != nullptr) {
            health_.count_command();
            sample_->count(command);
        }
        return;
    }
    unsent_.push(command);
    if (link_ == Link::none) {
        connect();
    }
}

/// The command's way ends here: its owner may submit it again, as a new one.
void Node::give_back(Command& command, Delivery delivery, const Reply* reply) noexcept {
    command.redirects_ = 0;
    command.asking_ = false;
    command.answered(*this, delivery, reply);
}

bool Node::follow(Command& command, bool asks) noexcept {
    constexpr unsigned char most_redirects = 5;
    if (command.redirects_ == most_redirects || !command.wanted()) {
        return false;
    }
    ++command.redirects_;
    command.asking_ = asks;
    if (asks) {
        command.before_ask();
    }
    submit(command);
    return true;
}

/// Tries every address once, the last good one first. Of a node that is known by a name alone, from a
/// sentinel or another node, those are asked for first.
void Node::connect() noexcept {
    addresses_.begin_round();
    if (addresses_.known()) {
        try_address();
        return;
    }
    begin_try();
    if (!addresses_.resolve()) {
        go_down(R"(its name cannot be resolved: add "resolver" to "http")");
    }
}

void Node::begin_try() noexcept {
    link_ = Link::connecting;
    retry_.keep_worker(keeps_worker(unsent_));
    retry_.set(store_.connect_timeout);
}

void Node::try_address() noexcept {
    begin_try();
    const char* reason = nullptr;
    do {
        in_use_ = addresses_.current();
        reason = connection_.open(in_use_);
    } while (reason != nullptr && addresses_.next_of_round());
    if (reason != nullptr) {
        go_down(addresses_.reason_of_round(reason, connection_.broke_handshake()));
    }
}

/// A command that did not wait for the resolver's answer may have led to a server that the name has left.
void Node::on_resolved() noexcept {
    if (connection_.is_open()) {
        // After demote() Charges decides when to reconnect.
        if (takes_writes_ && !addresses_.names(in_use_)) {
            reconnect();
        }
    } else if (link_ == Link::connecting) {
        addresses_.known() ? try_address() : go_down("its name does not resolve");
    }
}

void Node::on_connected() noexcept {
    retry_.clear();
    link_ = Link::greeting;
    since_ = msec_now();
    greeting_.begin();
}

/// False when the command could not be handed to the connection: it is the caller's again, and the connection
/// ends, or the next try would fail in the same way.
bool Node::send(Command& command) noexcept {
    bool taken = false;
    try {
        command.skips_answer_ = command.asking_;
        writer_.tell_time(greeting_.tells_time() ? micros_now() : 0);
        taken = (!command.asking_ || connection_.send(writer_.asking())) &&
                connection_.send(command.encode(writer_));
    } catch (...) {
    }
    if (!taken) {
        give_up("it takes no more commands");
        return false;
    }
    const bool was_idle = sent_.empty();
    command.sent_ = msec_now();
    command.excused_ = false;
    sent_.push(command);
    if (was_idle) {
        mark_idle();
        expect_next();
    }
    if (!watch_.armed()) {
        watch_.set(std::min(store_.check_timeout, store_.charge_timeout));
    }
    return true;
}

void Node::send_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    while (Command* command = waiting.pop()) {
        if (command->wanted()) {
            submit(*command);
        } else {
            give_back(*command, Delivery::unsent, nullptr);
        }
    }
    mark_idle();
}

void Node::return_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    mark_idle();
    while (Command* command = waiting.pop()) {
        give_back(*command, Delivery::unsent, nullptr);
    }
}

void Node::return_sent() noexcept {
    while (Command* command = take_sent()) {
        give_back(*command, Delivery::in_doubt, nullptr);
    }
}

void Node::on_reply(const Reply& reply) noexcept {
    if (sent_.head() != nullptr && sent_.head()->skips_answer_) {
        sent_.head()->skips_answer_ = false;
        if (reply.is_error()) {
            health_.count_asking(reply);
        }
        return;
    }
    Command* command = take_sent();
    if (command == nullptr) {
        // One answer too many: from here on every answer would go to the wrong command. While one is read in
        // part, the connection takes no command.
        give_up("an answer that no command waits for");
        return;
    }
    const bool may_go = reply.is_error() && in_cluster() && command->redirectable();
    const std::size_t words = command->words_of_script();
    if (words != 0 && replaced_another_type(reply, words)) {  // whether anybody waits for the answer or not
        health_.count_error(Fault::wrongtype, command->name(), reply);
    }
    if (!may_go || !guide_->redirect(*this, *command, reply)) {
        give_back(*command, Delivery::answered, &reply);
    }
    expect_next();
    leave_if_drained();
}

/// The few commands that need all of their reply get a tree for it. Without memory they find none.
void Node::expect_next() noexcept {
    const bool whole = shard_ == nullptr || (sent_.head() != nullptr && sent_.head()->whole_);
    if (whole == records_) {
        return;
    }
    try {
        whole ? connection_.record_trees() : connection_.record_no_trees();
        records_ = whole;
    } catch (...) {
        records_ = false;
    }
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
    watch_.keep_worker(keeps_worker(sent_));
}

Blame Node::blame(Fault fault, std::string_view command, const Reply& reply, Access access) noexcept {
    health_.count_error(fault, command, reply);
    if (!is_node_fault(fault)) {
        return Blame::command;
    }
    if (in_cluster() && is_of_slot(fault)) {
        return access == Access::write ? Blame::writes : Blame::command;
    }
    if (access == Access::write && refuses_writes(fault)) {
        return Blame::writes;
    }
    if (fault == Fault::noperm) {
        health_.tell_answer(fault, command, reply);
        return Blame::command;
    }
    if (usable()) {
        suspend(explain(fault), server_words(command, reply.text_view()));
    }
    return Blame::node;
}

void Node::demote() noexcept {
    takes_writes_ = false;
    addresses_.resolve();
    listener_.on_demoted(*this);
    health_.tell_demoted();
}

void Node::become(Role role) noexcept {
    if (health_.role() == role) {
        return;
    }
    health_.become(role);
    takes_writes_ = true;  // nothing else is known
    since_ = msec_now();
    if (link_ == Link::greeting || link_ == Link::open) {
        greeting_.change_role();
    }
}

bool Node::is_at(const NodeConf& conf) const noexcept {
    if (conf_.text == conf.text || same_name(conf_, conf)) {
        return true;
    }
    if (!connection_.is_open()) {
        return conf_.addresses.size() == 1 && share_address(conf_, conf);
    }
    return std::any_of(conf.addresses.begin(), conf.addresses.end(),
                       [this](const Address& address) { return same_address(in_use_, address); });
}

void Node::retire() noexcept {
    health_.retire();
    expects_more_ = false;
    retry_.clear();
    addresses_.stop();
    return_unsent();
    if (connection_.is_open()) {
        leave_if_drained();
    } else {
        listener_.on_end(*this);
    }
}

void Node::reconnect() noexcept {
    if (idle()) {
        connect();
    } else if (connection_.is_open() && !health_.is_over()) {
        if (link_ == Link::connecting || link_ == Link::greeting) {
            leave();  // nothing of a caller is lost with it
        } else if (link_ == Link::open) {
            link_ = Link::draining;
            leave_if_drained();
        }
    }
}

/// Closes a connection that is to be left, once nothing on it is unanswered.
void Node::leave_if_drained() noexcept {
    if (!sent_.empty()) {
        return;
    }
    if (health_.is(NodeHealth::State::retired)) {
        connection_.close("it is not needed any more");
    } else if (link_ == Link::draining && usable()) {
        leave();
    }
}

void Node::leave() noexcept {
    link_ = Link::leaving;
    addresses_.skip();  // another address of the name may be the primary's
    connection_.close("it is left for a new connection");
}

void Node::on_greeted() noexcept {
    if (health_.is_over()) {
        return;
    }
    link_ = link_ == Link::greeting ? Link::open : link_;
    health_.mark_up();
    retry_.clear();
    watch_.clear();  // nothing is unanswered: it must not wait for an older command's charge_timeout
    send_unsent();
    listener_.on_usable(*this);
}

void Node::on_refused(Fault fault, std::string_view command, const Reply& reply, bool often) noexcept {
    suspend(explain(fault), server_words(command, reply.text_view()));
    if (often && sent_.empty()) {
        connection_.close(explain(fault));  // its address may lead to another server by now
    }
}

/// The connection stays, so that what was sent still gets its answers; nothing new is sent but a probe.
void Node::suspend(std::string_view reason, std::string_view words) noexcept {
    if (health_.is_over()) {
        return;
    }
    health_.suspend(reason, words);
    listener_.on_unusable(*this);
    return_unsent();
    try_later();
}

void Node::go_down(const char* reason) noexcept {
    link_ = Link::none;
    health_.mark_down(reason, greeting_.take_words());
    listener_.on_unusable(*this);
    return_unsent();
    addresses_.resolve();
    try_later();
}

void Node::try_later() noexcept {
    retry_.keep_worker(false);
    retry_.set(health_.next_wait());
}

void Node::give_up(const char* reason) noexcept {
    health_.doom();
    connection_.close(reason);
}

void Node::on_close_idle() noexcept {
    link_ = Link::none;
    connection_.close("the worker is leaving");
}

void Node::on_closed(const char* reason) noexcept {
    retry_.clear();
    takes_writes_ = true;  // nothing else is known of the next connection
    if (health_.is_over()) {
        return_sent();
        return_unsent();
        if (health_.is(NodeHealth::State::retired)) {
            listener_.on_end(*this);
        }
    } else if (link_ == Link::leaving) {
        return_sent();
        connect();  // commands submitted meanwhile wait for that
    } else if (link_ == Link::none) {
        addresses_.resolve();  // closed as idle: that is not an outage
        if (!usable()) {
            health_.rest();
            try_later();
        }
    } else if (link_ == Link::connecting) {
        reason = addresses_.reason_of_round(reason, connection_.broke_handshake());
        addresses_.next_of_round() ? try_address() : go_down(reason);
    } else if (usable() && link_ != Link::greeting && health_.bears_loss(!sent_.empty())) {
        replace();
    } else {
        if (suspended() || link_ == Link::greeting) {
            addresses_.skip();  // this address takes connections and does not answer
        }
        health_.doom();  // commands that come back may be submitted again: not to this node
        return_sent();
        go_down(reason);
    }
}

/// The connection is lost, and the node goes on: the next command makes another one.
void Node::replace() noexcept {
    const bool due = link_ == Link::draining;
    link_ = Link::none;
    addresses_.resolve();
    return_unsent();  // another server may answer on the next connection: owners decide anew
    return_sent();
    if (due && idle()) {
        connect();  // perhaps nobody else asks this node for anything
    }
}

void Node::on_retry(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    if (node.suspended()) {
        node.greeting_.probe();
    } else if (node.link_ == Link::none) {
        node.connect();
    } else if (!node.connection_.is_open()) {
        node.go_down("its name was not resolved within connect_timeout");
    } else {
        node.connection_.close(node.connection_.shakes_hands()
                                   ? "the TLS handshake took longer than connect_timeout"
                                   : "connecting took longer than connect_timeout");
    }
}

/// One timer over the unanswered commands, oldest first: they are answered in the order they were sent.
void Node::on_watch(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    const Msec check_timeout = node.store_.check_timeout;
    const Msec earliest = std::min(check_timeout, node.store_.charge_timeout);
    const Msec grace = grace_after(node.watch_, check_timeout);
    const auto oldest_age = [&node] {
        return node.sent_.empty() ? 0 : msec_now() - node.sent_.head()->sent_;
    };
    if (oldest_age() >= earliest) {
        node.read_now();  // the answer may have come while this worker was busy
    }
    if (node.sent_.empty() || node.watch_.armed()) {
        return;
    }
    const Msec age = oldest_age();
    if (age >= earliest && grace != 0 && !std::exchange(node.sent_.head()->excused_, true)) {
        node.watch_.set(grace);
        return;
    }
    if (age >= node.store_.charge_timeout) {
        node.connection_.close("no answer in charge_timeout");
        return;
    }
    if (age >= check_timeout && !node.suspended() && !node.health_.is_over()) {
        node.health_.count_silent();
        node.suspend("no answer in check_timeout");
        node.greeting_.probe();
    }
    node.watch_.set((age < check_timeout ? earliest : node.store_.charge_timeout) - age);
}

void Node::read_now() noexcept {
    if (!sent_.empty()) {
        connection_.read_now();
    }
}

void Node::shut_down() noexcept {
    health_.end();
    addresses_.stop();
    connection_.write_now();
    connection_.close("the worker is leaving");
    return_unsent();
    watch_.clear();
    retry_.clear();
}

}  // namespace rate_limit
