#include <utility>

#include "limiter/wire/node.h"

#include <cinttypes>

#include "redis/server_words.h"
#include "redis/topology/topology_replies.h"

// Questions to a node when it is connected, before it is up.

namespace rate_limit {

namespace {

/// After this many refused probes in a row the connection is replaced.
constexpr unsigned most_refused_probes = 3;

/// Stands for the command where a server's words answer none.
constexpr std::string_view said = "it said";

}  // namespace

void Node::on_connected() noexcept {
    retry_.clear();
    state_ = State::greeting;
    greeted_ = false;
    clock_.forget();
    tells_time_ = false;
    takes_bitfields_ = true;
    refused_probes_ = 0;
    refusal_.clear();
    only_words_.clear();
    answered_ = false;
    if (!login().password.empty()) {
        greet_with(auth_);
    }
    if (store_.database != 0 && shard_ != nullptr) {
        greet_with(select_);
    }
    if (role_ == Role::replica && in_cluster()) {
        greet_with(readonly_);
    }
    if (role_ == Role::primary) {
        prepare_for_writes();
    }
    greet_with(ping_);
}

const Login& Node::login() const noexcept {
    return role_ == Role::sentinel ? store_.sentinel_login : store_.login;
}

/// The scripts are there with the first charge: what follows on the same connection is read after them.
void Node::prepare_for_writes() noexcept {
    greet_with(memory_);
    if (shard_ != nullptr && shard_->discovered() && !in_cluster()) {
        greet_with(replication_);
    }
    for (std::size_t i = 0; i < script_count; ++i) {
        loads_[i].script = &all_scripts()[i];
        greet_with(loads_[i]);
    }
}

void Node::greet_with(Greeting& greeting) noexcept {
    if (!greeting.pending) {
        greeting.pending = true;
        greeting.node = this;
        greeting.pending = send(greeting);
    }
}

Node::Greeting& Node::kind_of_reads() noexcept {
    return role_ == Role::replica ? readonly_ : readwrite_;
}

/// The role may have changed to and fro while `answered` was on its way.
void Node::keep_kind_of_reads(const Greeting& answered) noexcept {
    if (up_ && &kind_of_reads() != &answered) {
        greet_with(kind_of_reads());
    }
}

std::string_view Node::Greeting::encode(CommandWriter& writer) {
    switch (kind_) {
        case Kind::auth:
            return writer.auth(node->login().username, node->login().password);
        case Kind::select:
            return writer.select(node->store_.database);
        case Kind::readonly:
            return writer.readonly();
        case Kind::readwrite:
            return writer.readwrite();
        case Kind::memory:
            return writer.info_memory();
        case Kind::replication:
            return writer.info_replication();
        case Kind::load:
            return writer.load(*script);
        default:
            return writer.ping();
    }
}

void Node::Greeting::answered(Node& of, Delivery delivery, const Reply* reply) noexcept {
    pending = false;
    if (delivery != Delivery::answered) {
        return;  // on_closed() follows
    }
    of.note_words(*reply);
    if (fault_of(*reply) == Fault::denied) {
        of.reject_greeting(said, *reply);  // it has answered nothing: it said so unasked, and closes
        return;
    }
    switch (kind_) {
        case Kind::auth:
        case Kind::select:
            of.reject_greeting(name(), *reply);
            break;
        case Kind::readonly:
            of.reject_greeting(name(), *reply);
            of.keep_kind_of_reads(*this);
            break;
        case Kind::readwrite:  // if that is not allowed, READONLY tells that it is a replica
            of.keep_kind_of_reads(*this);
            break;
        case Kind::memory:
            of.warn_if_evicting(*reply);
            break;
        case Kind::replication:
            of.take_replication(*reply);
            break;
        case Kind::load:
            break;  // if that is not allowed, NOSCRIPT brings the text
        case Kind::ping:
            of.greeted(*reply);
            break;
    }
}

/// The server says first that it does not let a client in, whatever was asked, and then ends the connection.
void Node::note_words(const Reply& reply) noexcept {
    const bool first = !std::exchange(answered_, true);
    if (!reply.is_error()) {
        only_words_.clear();
    }
    try {
        if (first && reply.is_error()) {
            only_words_ = server_words(said, reply.text_view());
        }
    } catch (...) {
        // without memory the log gives less
    }
}

/// A connection that is not authenticated, or writes into another database, is of no use: it is given up.
void Node::reject_greeting(std::string_view command, const Reply& reply) noexcept {
    if (!reply.is_error()) {
        return;
    }
    const Fault fault = fault_of(reply);
    up_ = false;
    count_error(fault, command, reply);
    try {
        refusal_ = server_words(command, reply.text_view());
    } catch (...) {
        // without memory the log gives less
    }
    connection_.close(explain(fault));
}

void Node::greeted(const Reply& reply) noexcept {
    if (answers_ping(reply)) {
        greeted_ = true;
        state_ = State::ready;
        refused_probes_ = 0;
        mark_up();
        return;
    }
    const Fault fault = fault_of(reply);
    count_error(fault, ping_.name(), reply);
    suspend_by(fault, ping_.name(), reply);
    if (++refused_probes_ >= most_refused_probes && sent_.empty()) {
        connection_.close(explain(fault));  // its address may lead to another server by now
    }
}

/// The primary that the sentinels named may not be one yet, or not any more.
void Node::take_replication(const Reply& reply) noexcept {
    Replication found;
    if (reply.is_error() || !read_replication(reply.text_view(), found) || role_ != Role::primary) {
        return;  // if INFO is not allowed, the first charge finds out
    }
    if (found.primary) {
        warn_if_alone(found);
    } else {
        demote();
    }
}

/// With one replica the setting would stop all charges whenever either server is down.
void Node::warn_if_alone(const Replication& found) const noexcept {
    if (found.guarded || found.replicas < 2 || shard_->warned->replicas.exchange(true)) {
        return;
    }
    log_line(process_log(), LogLevel::warn,
             "rate limit: %s takes writes without replicas: when it is cut off from all of its %" PRIu64
             ", it goes on taking charges that are lost; set min-replicas-to-write 1 and "
             "min-replicas-max-lag 10",
             subject_.c_str(), found.replicas);
}

void Node::warn_if_evicting(const Reply& reply) const noexcept {
    if (reply.is_error() || !evicts(reply.text_view()) || shard_->warned->eviction.exchange(true)) {
        return;
    }
    log_line(process_log(), LogLevel::warn,
             "rate limit: %s has maxmemory with a policy other than noeviction: an evicted window is a "
             "fresh allowance; set maxmemory-policy noeviction",
             subject_.c_str());
}

}  // namespace rate_limit
