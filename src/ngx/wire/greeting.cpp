#include "ngx/wire/node.h"
#include "redis/server_words.h"

// What a node is asked when it is connected, before it is up.

namespace rate_limit {

namespace {

/// After this many refused probes in a row the connection is replaced.
constexpr unsigned most_refused_probes = 3;

}  // namespace

void Node::on_connected() noexcept {
    retry_.clear();
    state_ = State::greeting;
    refused_probes_ = 0;
    refusal_.clear();
    if (!store_.password.empty()) {
        greet_with(auth_);
    }
    if (store_.database != 0) {
        greet_with(select_);
    }
    if (role_ == Role::primary) {
        prepare_for_writes();
    }
    greet_with(ping_);
}

/// What follows on the same connection is read after this: the scripts are there with the first charge.
void Node::prepare_for_writes() noexcept {
    greet_with(info_);
    for (std::size_t i = 0; i < script_count; ++i) {
        loads_[i].script = &all_scripts()[i];
        greet_with(loads_[i]);
    }
}

void Node::greet_with(Greeting& greeting) noexcept {
    if (!greeting.pending) {
        greeting.pending = true;
        greeting.store = &store_;
        greeting.pending = send(greeting);
    }
}

std::string_view Node::Greeting::encode(CommandWriter& writer) {
    switch (kind_) {
        case Kind::auth:
            return writer.auth(store->username, store->password);
        case Kind::select:
            return writer.select(store->database);
        case Kind::info:
            return writer.info_memory();
        case Kind::load:
            return writer.load(*script);
        default:
            return writer.ping();
    }
}

void Node::Greeting::answered(Node& node, Delivery delivery, const Reply* reply) noexcept {
    pending = false;
    if (delivery != Delivery::answered) {
        return;  // on_closed() follows
    }
    switch (kind_) {
        case Kind::auth:
        case Kind::select:
            node.reject_greeting(name(), *reply);
            break;
        case Kind::info:
            node.warn_if_evicting(*reply);
            break;
        case Kind::load:
            break;  // where that is not allowed, NOSCRIPT brings the text
        case Kind::ping:
            node.greeted(*reply);
            break;
    }
}

/// A connection that is not authenticated, or writes into another database, is of no use: it is given up.
void Node::reject_greeting(const char* command, const Reply& reply) noexcept {
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

void Node::warn_if_evicting(const Reply& reply) const noexcept {
    if (reply.is_error() || !evicts(reply.text_view()) || !ngx_atomic_cmp_set(eviction_warned_, 0, 1)) {
        return;
    }
    ngx_log_error(NGX_LOG_WARN, ngx_cycle->log, 0,
                  "rate limit: %s has maxmemory with a policy other than noeviction: an evicted window is a "
                  "fresh allowance; set maxmemory-policy noeviction",
                  subject_.c_str());
}

}  // namespace rate_limit
