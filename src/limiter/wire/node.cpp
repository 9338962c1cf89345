#include "limiter/wire/node.h"

#include <strings.h>

#include <algorithm>
#include <utility>

#include "limiter/zone.h"
#include "redis/script_reply.h"
#include "redis/server_words.h"

namespace rate_limit {

namespace {

/// `primary ADDRESS of shard "NAME" of "STORE"`, or `sentinel ADDRESS of "STORE"`.
std::string subject_of(const StoreConf& store, const NodeConf& conf, const ShardConf* shard, Role role) {
    constexpr const char* roles[] = {"primary ", "replica ", "sentinel ", "seed "};
    std::string subject = roles[static_cast<std::size_t>(role)];
    subject.append(conf.text);
    if (shard != nullptr && !shard->in_cluster) {
        subject.append(" of shard \"").append(shard->name).append("\"");
    }
    return subject.append(" of \"").append(store.name).append("\"");
}

/// Whether host and port are the same: one of them may have been written without the port.
bool same_name(const NodeConf& a, const NodeConf& b) noexcept {
    return !a.peer.empty() && a.port == b.port && a.peer.size() == b.peer.size() &&
           strncasecmp(a.peer.data(), b.peer.data(), a.peer.size()) == 0;
}

/// Those that are asked for the topology are counted together, but for sentinels of the configuration.
Subject counted_as(const StoreConf& store, const ShardConf* shard, const NodeConf& conf, Role role) {
    if (role == Role::seed) {
        return {store.name, store.shards.front().name, any_node};
    }
    if (shard == nullptr) {
        return {store.name, {}, conf.learned ? any_node : std::string_view(conf.text)};
    }
    return {store.name, shard->name, conf.text};
}

BoardEntry::Kind kind_of(const ShardConf* shard, const NodeConf& conf) noexcept {
    if (shard == nullptr || (conf.host.empty() && conf.addresses.empty())) {
        return BoardEntry::Kind::unlisted;
    }
    return conf.learned ? BoardEntry::Kind::learned : BoardEntry::Kind::configured;
}

}  // namespace

Node::Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener,
           CommandSample* sample)
    : store_(store),
      shard_(shard),
      conf_(std::move(conf)),
      role_(role),
      subject_(subject_of(store, conf_, shard_, role)),
      listener_(listener),
      sample_(sample),
      entry_(*store.zone, counted_as(store, shard, conf_, role), kind_of(shard, conf_),
             role == Role::primary),
      connection_(*this, store, conf_.peer),
      addresses_(store, conf_, *this),
      outages_(subject_, "is up again",
               shard == nullptr && conf_.learned ? LogLevel::notice : LogLevel::error),
      answers_(subject_) {
    expect_next();
}

void Node::submit(Command& command) noexcept {
    if (!up_ || ended_) {
        give_back(command, Delivery::unsent, nullptr);
        return;
    }
    if (state_ == State::ready) {
        if (!send(command)) {
            give_back(command, Delivery::unsent, nullptr);
        } else if (shard_ != nullptr) {
            entry_.count_command();
            sample_->count(command);
        }
        return;
    }
    unsent_.push(command);
    if (state_ == State::idle) {
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
    retry_.keep_worker(keeps_worker(unsent_));
    retry_.set(store_.connect_timeout);
    if (!addresses_.resolve()) {
        mark_down(R"(its name cannot be resolved: add "resolver" to "http")");
    }
}

void Node::on_resolved() noexcept {
    if (connection_.is_open()) {
        // After demote() Charges decides when to reconnect.
        if (takes_writes_ && !addresses_.names(in_use_)) {
            follow_name();
        }
        return;
    }
    if (state_ != State::connecting) {
        return;
    }
    if (addresses_.known()) {
        try_address();
    } else {
        mark_down("its name does not resolve");
    }
}

/// A command that did not wait for the resolver's answer has led to the server that the name has left. Where
/// no command of a caller was sent on the connection, nothing is lost with it.
void Node::follow_name() noexcept {
    const bool unused = state_ == State::suspended && !greeted_;
    if (unused || state_ == State::connecting || state_ == State::greeting) {
        renamed_ = true;
        connection_.close("its name leads to another server");
    } else {
        reconnect();
    }
}

void Node::try_address() noexcept {
    for (;;) {
        state_ = State::connecting;
        in_use_ = addresses_.current();
        const char* reason = connection_.open(in_use_);
        if (reason == nullptr) {
            retry_.keep_worker(keeps_worker(unsent_));
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
        taken = write(command);
    } catch (...) {
    }
    if (!taken) {
        up_ = false;
        connection_.close("it takes no more commands");
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
    watch();
    return true;
}

bool Node::write(Command& command) {
    command.skips_answer_ = command.asking_;
    writer_.tell_time(tells_time_ ? micros_now() : 0);
    return (!command.asking_ || connection_.send(writer_.asking())) &&
           connection_.send(command.encode(writer_));
}

void Node::tell_time() noexcept {
    tells_time_ = true;
    if (shard_ != nullptr && !shard_->warned->time.exchange(true)) {
        log_line(
            process_log(), LogLevel::warn,
            "rate limit: %s does not let scripts call TIME: token buckets and running requests count by the "
            "clocks of the machines, which must agree; give the user +time",
            subject_.c_str());
    }
}

void Node::refuse_bitfields() noexcept {
    takes_bitfields_ = false;
    if (shard_ != nullptr && !shard_->warned->bitfield.exchange(true)) {
        log_line(process_log(), LogLevel::warn,
                 "rate limit: %s does not let its user call BITFIELD: each request to a token bucket takes a "
                 "script, which costs Redis three times as much; give the user +bitfield",
                 subject_.c_str());
    }
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

void Node::on_reply(const Reply& reply) noexcept {
    if (sent_.head() != nullptr && sent_.head()->skips_answer_) {
        sent_.head()->skips_answer_ = false;
        if (reply.is_error()) {
            const Fault fault = fault_of(reply);
            entry_.count(error_of(fault));
            answers_.add(fault, "ASKING", reply);  // for the command gets MOVED then, which says nothing
        }
        return;
    }
    Command* command = take_sent();
    if (command == nullptr) {
        // One answer too many: from here on every answer would go to the wrong command. While one is read in
        // part, the connection takes no command.
        up_ = false;
        connection_.close("an answer that no command waits for");
        return;
    }
    const bool may_go = reply.is_error() && in_cluster() && command->redirectable();
    tell_replaced(*command, reply);
    if (!may_go || !listener_.on_redirect(*this, *command, reply)) {
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
    count_error(fault, command, reply);
    if (!is_node_fault(fault)) {
        return Blame::command;
    }
    if (in_cluster() && is_of_slot(fault)) {
        return access == Access::write ? Blame::writes : Blame::command;
    }
    if (access == Access::write && refuses_writes(fault)) {
        return Blame::writes;
    }
    if (up_) {
        suspend_by(fault, command, reply);
    }
    return Blame::node;
}

/// Counts an error answer, and tells it where nothing else does.
void Node::count_error(Fault fault, std::string_view command, const Reply& reply) noexcept {
    entry_.count(error_of(fault));
    if (!is_node_fault(fault)) {
        may_reconnect_ = true;
        answers_.add(fault, command, reply);  // others suspend the node, or close the gate of charges
    }
}

/// One place for all scripts, and for all answers, also those that nobody waits for any more.
void Node::tell_replaced(const Command& command, const Reply& reply) noexcept {
    const std::size_t words = command.words_of_script();
    if (words != 0 && replaced_another_type(reply, words)) {
        count_error(Fault::wrongtype, command.name(), reply);
    }
}

void Node::demote() noexcept {
    takes_writes_ = false;
    addresses_.resolve();
    listener_.on_demoted(*this);
    if (conf_.learned) {
        return;  // the sentinel or node that named it is asked again
    }
    const bool named = !conf_.host.empty();
    if (!told_to_reload_ && (!named || !store_.resolves_again)) {
        told_to_reload_ = true;
        log_line(process_log(), LogLevel::error,
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
    entry_.set_primary(role == Role::primary);
    takes_writes_ = true;  // nothing else is known
    try {
        subject_ = subject_of(store_, conf_, shard_, role);
    } catch (...) {
        // without memory the log calls it what it was
    }
    if (in_cluster() && connection_.is_open() && state_ != State::connecting) {
        greet_with(kind_of_reads());
    }
    const bool greeted = state_ == State::ready || state_ == State::greeting || state_ == State::suspended;
    if (role == Role::primary && greeted) {
        prepare_for_writes();
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
    retired_ = true;
    entry_.set_primary(false);
    up_ = false;
    outages_.ended("is not used any more");
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
        addresses_.skip();  // another address of the name may be the primary's
        connection_.close("it is left for a new connection");
    }
}

void Node::read_now() noexcept {
    if (!sent_.empty()) {
        connection_.read_now();
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
