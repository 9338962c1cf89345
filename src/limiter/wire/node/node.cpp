#include "limiter/wire/node/node.h"

#include <algorithm>
#include <utility>

#include "limiter/turn_clock.h"
#include "redis/server_words.h"

namespace rate_limit {

Node::Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener,
           CommandSample* sample, Guide* guide)
    : store_(store),
      shard_(shard),
      conf_(std::move(conf)),
      listener_(listener),
      sample_(sample),
      guide_(guide),
      health_(store, shard, conf_, role),
      line_(new_line()),
      addresses_(store, conf_, *this) {}

Node::~Node() {
    shut_down();
}

std::unique_ptr<Line> Node::new_line() {
    return std::make_unique<Line>(store_, shard_, conf_.peer, health_, answer_time_,
                                  static_cast<Line::Owner&>(*this));
}

void Node::submit(Command& command) noexcept {
    if (!usable()) {
        command.given_back(*this, Delivery::unsent, nullptr);
        return;
    }
    if (link_ == Link::open) {
        if (!line_->send(command)) {
            command.given_back(*this, Delivery::unsent, nullptr);
        } else if (shard_ != nullptr) {
            health_.count_command();
            sample_->count(command);
        }
        return;
    }
    unsent_.push(command);
    mark_idle();
    if (link_ == Link::none) {
        connect();
    }
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

void Node::call_roll() noexcept {
    health_.call_roll(answer_time_.smoothed());
    if (ready()) {
        line_->greeting().call_roll(line_->silent_for());
    }
}

void Node::look() noexcept {
    if (ready()) {
        line_->greeting().probe();
    } else if (idle()) {
        connect();
    }
}

bool Node::keep_connection() noexcept {
    if (!kept_.is_taken() && kept_.take()) {
        connect_soon();
    }
    return kept_.is_taken();
}

/// Workers of all machines do so at different times.
void Node::connect_soon() noexcept {
    constexpr Msec spread = 100;
    if (kept_.is_taken() && idle() && !is_leaving()) {
        retry_.keep_worker(false);
        retry_.set(random_bits() % spread);
    }
}

/// Tries every address once, the last good one first. Of a node that is known by a name alone, from a
/// sentinel or another node, those are asked for first.
void Node::connect() noexcept {
    connecting_ = TurnClock::micros();
    addresses_.begin_round();
    if (addresses_.known()) {
        try_address();
        return;
    }
    link_ = Link::connecting;
    retry_.keep_worker(shard_ != nullptr && !unsent_.empty());
    retry_.set(store_.connect_timeout);
    if (!addresses_.resolve()) {
        go_down(R"(its name cannot be resolved: add "resolver" to "http")");
    }
}

void Node::try_address() noexcept {
    link_ = Link::connecting;
    retry_.clear();
    const char* reason = nullptr;
    do {
        reason = line_->open(addresses_.current());
    } while (reason != nullptr && addresses_.next_of_round());
    if (reason != nullptr) {
        go_down(addresses_.reason_of_round(reason, line_->broke_handshake()));
    }
}

/// A command that did not wait for the resolver's answer may have led to a server that the name has left.
void Node::on_resolved() noexcept {
    if (line_->is_open()) {
        // After demote() Charges decides when to reconnect.
        if (takes_writes_ && !addresses_.names(line_->address())) {
            reconnect();
        }
    } else if (link_ == Link::connecting) {
        addresses_.known() ? try_address() : go_down("its name does not resolve");
    }
}

void Node::on_connected(Line& line) noexcept {
    if (is(line_, line)) {
        link_ = Link::greeting;
        since_ = msec_now();
    }
}

void Node::send_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    while (Command* command = waiting.pop()) {
        if (command->wanted()) {
            submit(*command);
        } else {
            command->given_back(*this, Delivery::unsent, nullptr);
        }
    }
    mark_idle();
}

void Node::return_unsent() noexcept {
    CommandQueue waiting = std::exchange(unsent_, {});
    mark_idle();
    while (Command* command = waiting.pop()) {
        command->given_back(*this, Delivery::unsent, nullptr);
    }
}

void Node::on_answer(Line& line, Command& command, const Reply& reply) noexcept {
    const bool may_go = reply.is_error() && in_cluster() && command.redirectable();
    if (!may_go || !guide_->redirect(*this, command, reply)) {
        command.given_back(*this, Delivery::answered, &reply);
    }
    if (is(line_, line)) {
        leave_if_drained();
    } else if (is(former_, line) && line.unanswered() == 0) {
        line.close("all of it is answered");
    }
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
        suspend(health_.explain(fault), server_words(command, reply.text_view()));
    }
    return Blame::node;
}

void Node::on_replica(Line& line) noexcept {
    if (is(line_, line)) {
        demote();
    }
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
        line_->greeting().change_role();
    }
    drop(relief_);  // it was greeted as another one
}

void Node::retire() noexcept {
    health_.retire();
    kept_.leave();
    expects_more_ = false;
    retry_.clear();
    addresses_.stop();
    drop(relief_);
    return_unsent();
    if (line_->is_open()) {
        leave_if_drained();
    } else {
        end_if_done();
    }
}

void Node::reconnect() noexcept {
    if (idle()) {
        connect();
    } else if (line_->is_open() && !health_.is_over()) {
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
    if (line_->unanswered() != 0) {
        return;
    }
    if (health_.is(NodeHealth::State::retired)) {
        line_->close("it is not needed any more");
    } else if (link_ == Link::draining && usable()) {
        leave();
    }
}

void Node::leave() noexcept {
    link_ = Link::leaving;
    addresses_.skip();  // another address of the name may be the primary's
    line_->close("it is left for a new connection");
}

void Node::on_greeted(Line& line) noexcept {
    if (is(relief_, line)) {
        take_over();
    }
    if (!is(line_, line) || health_.is_over() || (usable() && link_ != Link::greeting)) {
        return;  // it was looked at, or is not in use
    }
    drop(relief_);
    link_ = link_ == Link::greeting ? Link::open : link_;
    const std::uint64_t took = answer_time_.smoothed().value_or(0);
    if (!usable() || took > std::uint64_t{1000} * store_.check_timeout) {
        answer_time_.forget();  // its silence says nothing of how long it takes
        line_->greeting().probe();
    }
    health_.mark_up();
    retry_.clear();
    send_unsent();
    listener_.on_usable(*this);
}

void Node::on_refused(Line& line, Fault fault, std::string_view command, const Reply& reply,
                      bool often) noexcept {
    if (is(relief_, line)) {
        drop(relief_);
    }
    if (!is(line_, line)) {
        return;
    }
    suspend(health_.explain(fault), server_words(command, reply.text_view()));
    if (often && line_->unanswered() == 0) {
        line_->close(health_.explain(fault));  // its address may lead to another server by now
    }
}

void Node::on_silent(Line& line) noexcept {
    if (!is(line_, line) || suspended() || health_.is_over()) {
        return;
    }
    health_.count_silent();
    suspend("no answer in check_timeout");
    line_->greeting().probe();
    relieve();
}

/// A second connection is made beside the silent one, if there is memory; node.h says why.
void Node::relieve() noexcept {
    if (relief_ != nullptr || former_ != nullptr || line_->unanswered() == 0 || link_ != Link::open ||
        is_leaving()) {
        return;
    }
    try {
        relief_ = new_line();
    } catch (...) {
        return;
    }
    if (relief_->open(line_->address()) != nullptr) {
        sweep_.set_to_end_of_turn();
    }
}

/// Commands that were sent over the silent connection may still be answered there.
void Node::take_over() noexcept {
    former_ = std::exchange(line_, std::move(relief_));
    former_->expect_more(false, false);
    former_->measure_no_more();
    takes_writes_ = true;  // nothing else is known
    link_ = Link::greeting;
    connecting_ = TurnClock::micros();
    since_ = msec_now();  // perhaps it leads to another server
    mark_idle();
    if (former_->unanswered() == 0) {
        former_->close("all of it is answered");
    } else {
        listener_.on_second_line(*this);
    }
}

/// Its lines are destroyed in another turn of the loop: one of them may be what calls.
void Node::drop(std::unique_ptr<Line>& line) noexcept {
    if (line != nullptr) {
        line->close("it is not needed");
        sweep_.set_to_end_of_turn();
    }
}

void Node::on_sweep(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    for (std::unique_ptr<Line>* line : {&node.relief_, &node.former_}) {
        if (*line != nullptr && !(*line)->is_open()) {
            line->reset();
        }
    }
    node.end_if_done();
}

void Node::end_if_done() noexcept {
    if (at_end()) {
        listener_.on_end(*this);
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
    health_.mark_down(reason, line_->greeting().take_words());
    listener_.on_unusable(*this);
    return_unsent();
    addresses_.resolve();
    try_later();
}

void Node::try_later() noexcept {
    retry_.keep_worker(false);
    retry_.set(health_.next_wait());
}

void Node::on_broken(Line& line) noexcept {
    if (is(line_, line)) {
        health_.doom();
    }
}

void Node::on_close_idle(Line& line) noexcept {
    if (is(line_, line)) {
        link_ = Link::none;
    }
    line.close("the worker is leaving");
}

void Node::on_closed(Line& line, const char* reason) noexcept {
    if (is(line_, line)) {
        lost(reason);
        return;
    }
    line.give_back(*this);
    sweep_.set_to_end_of_turn();
    if (is(relief_, line) && suspended()) {
        addresses_.resolve();
        try_later();
    }
}

void Node::lost(const char* reason) noexcept {
    drop(relief_);
    retry_.clear();
    takes_writes_ = true;  // nothing else is known of the next connection
    if (health_.is_over()) {
        line_->give_back(*this);
        return_unsent();
        end_if_done();
    } else if (link_ == Link::leaving) {
        line_->give_back(*this);
        connect();  // commands submitted meanwhile wait for that
    } else if (link_ == Link::none) {
        addresses_.resolve();  // closed as idle: that is not an outage
        if (!usable()) {
            health_.rest();
            try_later();
        }
    } else if (link_ == Link::connecting) {
        reason = addresses_.reason_of_round(reason, line_->broke_handshake());
        addresses_.next_of_round() ? try_address() : go_down(reason);
    } else if (usable() && link_ != Link::greeting && health_.bears_loss(line_->unanswered() != 0)) {
        replace();
    } else {
        if (suspended() || link_ == Link::greeting) {
            addresses_.skip();  // this address takes connections and does not answer
        }
        health_.doom();  // commands that come back may be submitted again: not to this node
        line_->give_back(*this);
        go_down(reason);
    }
}

/// The connection is lost, and the node goes on: the next command makes another one.
void Node::replace() noexcept {
    const bool due = link_ == Link::draining;
    link_ = Link::none;
    addresses_.resolve();
    return_unsent();  // another server may answer on the next connection: owners decide anew
    line_->give_back(*this);
    if (due && idle()) {
        connect();  // perhaps nobody else asks this node for anything
    } else {
        connect_soon();
    }
}

void Node::on_retry(void* self) noexcept {
    Node& node = *static_cast<Node*>(self);
    if (node.suspended()) {
        node.relieve();
        node.line_->greeting().probe();
    } else if (node.link_ == Link::none) {
        node.connect();
    } else {
        node.go_down("its name was not resolved within connect_timeout");
    }
}

void Node::read_now() noexcept {
    line_->read_now();
    if (former_ != nullptr) {
        former_->read_now();
    }
}

void Node::shut_down() noexcept {
    health_.end();
    addresses_.stop();
    drop(relief_);
    drop(former_);
    line_->write_now();
    line_->close("the worker is leaving");
    return_unsent();
    retry_.clear();
}

}  // namespace rate_limit
