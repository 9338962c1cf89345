#include "limiter/wire/connection/greeting.h"

#include <cinttypes>

#include "redis/server_words.h"
#include "redis/topology/topology_replies.h"

namespace rate_limit {

namespace {

/// After this many refused probes in a row the connection is replaced.
constexpr unsigned most_refused_probes = 3;

/// Stands for the command where a server's words answer none.
constexpr std::string_view said = "it said";

}  // namespace

void Greeting::begin() noexcept {
    clock_.forget();
    tells_time_ = false;
    takes_bitfields_ = true;
    answered_ = false;
    refused_probes_ = 0;
    words_.clear();
    if (!login().password.empty()) {
        ask(auth_);
    }
    if (store_.database != 0 && shard_ != nullptr) {
        ask(select_);
    }
    if (health_.role() == Role::replica && in_cluster()) {
        ask(readonly_);
    }
    take_role();
    ask(ping_);
}

void Greeting::end() noexcept {
    if (held_ != nullptr) {
        held_->forget();
    }
}

/// A balancer or a firewall forgets a connection without a word: that is found before a request needs it. And
/// a replica may follow another primary without ending its connections.
void Greeting::call_roll(Msec silent_for) noexcept {
    constexpr Msec ten_seconds = 10'000;
    if (silent_for >= ten_seconds) {
        probe();
    }
    if (held_ != nullptr && asks_replication() && msec_now() - asked_replication_ >= ten_seconds) {
        asked_replication_ = msec_now();
        ask(replication_);
    }
}

void Greeting::change_role() noexcept {
    if (in_cluster()) {
        ask(kind_of_reads());
    }
    take_role();
}

void Greeting::take_role() noexcept {
    if (asks_replication()) {
        asked_replication_ = msec_now();
        ask(replication_);
    }
    if (health_.role() == Role::primary && store_.home == nullptr) {
        prepare_for_writes();
    }
}

bool Greeting::asks_replication() const noexcept {
    return shard_ != nullptr && !in_cluster() &&
           (held_ != nullptr || (shard_->discovered() && health_.role() == Role::primary));
}

const Login& Greeting::login() const noexcept {
    return health_.role() == Role::sentinel ? store_.sentinel_login : store_.login;
}

/// The scripts are there with the first charge: what follows on the same connection is read after them.
void Greeting::prepare_for_writes() noexcept {
    ask(memory_);
    for (std::size_t i = 0; i < script_count; ++i) {
        loads_[i].script = &all_scripts()[i];
        ask(loads_[i]);
    }
}

void Greeting::ask(Question& question) noexcept {
    if (!question.pending) {
        question.pending = true;
        question.greeting = this;
        question.pending = owner_.send(question);
    }
}

Greeting::Question& Greeting::kind_of_reads() noexcept {
    return health_.role() == Role::replica ? readonly_ : readwrite_;
}

/// The role may have changed to and fro while `answered` was on its way.
void Greeting::keep_kind_of_reads(const Question& answered) noexcept {
    if (health_.usable() && &kind_of_reads() != &answered) {
        ask(kind_of_reads());
    }
}

std::string_view Greeting::Question::encode(CommandWriter& writer) {
    switch (kind) {
        case Kind::auth:
            return writer.auth(greeting->login().username, greeting->login().password);
        case Kind::select:
            return writer.select(greeting->store_.database);
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

void Greeting::Question::answered(Node& /*node*/, Delivery delivery, const Reply* reply) noexcept {
    pending = false;
    if (delivery == Delivery::answered) {
        greeting->take(*this, *reply);
    }
}

void Greeting::take(const Question& question, const Reply& reply) noexcept {
    note_words(reply);
    const Fault fault = fault_of(reply);
    // A server may have other words for what it does not take as a password.
    const bool refused = fault == Fault::auth || (question.kind == Question::Kind::auth && reply.is_error());
    if (refused && login().renew(health_.role() == Role::sentinel ? "a sentinel" : "a server", store_.name)) {
        health_.try_soon();
    }
    if (fault == Fault::denied) {
        reject(said, reply);  // it has answered nothing: it said so unasked, and closes
        return;
    }
    switch (question.kind) {
        case Question::Kind::auth:
        case Question::Kind::select:
            reject(question.name(), reply);
            break;
        case Question::Kind::readonly:
            reject(question.name(), reply);
            keep_kind_of_reads(question);
            break;
        case Question::Kind::readwrite:  // if that is not allowed, READONLY tells that it is a replica
            keep_kind_of_reads(question);
            break;
        case Question::Kind::memory:
            warn_if_evicting(reply);
            break;
        case Question::Kind::replication:
            take_replication(reply);
            break;
        case Question::Kind::load:
            break;  // if that is not allowed, NOSCRIPT brings the text
        case Question::Kind::ping:
            take_pong(reply);
            break;
    }
}

/// The server says first that it does not let a client in, whatever was asked, and then ends the connection.
void Greeting::note_words(const Reply& reply) noexcept {
    const bool first = !std::exchange(answered_, true);
    if (!reply.is_error()) {
        words_.clear();
    } else if (first) {
        words_ = server_words(said, reply.text_view());
    }
}

void Greeting::reject(std::string_view command, const Reply& reply) noexcept {
    if (!reply.is_error()) {
        return;
    }
    const Fault fault = fault_of(reply);
    health_.count_error(fault, command, reply);
    words_ = server_words(command, reply.text_view());
    owner_.give_up(health_.explain(fault));
}

void Greeting::take_pong(const Reply& reply) noexcept {
    if (answers_ping(reply)) {
        refused_probes_ = 0;
        owner_.on_greeted();
        return;
    }
    const Fault fault = fault_of(reply);
    health_.count_error(fault, ping_.name(), reply);
    owner_.on_refused(fault, ping_.name(), reply, ++refused_probes_ >= most_refused_probes);
}

/// The primary that the sentinels named may not be one yet, or not any more. If INFO is not allowed, the
/// first charge finds out.
void Greeting::take_replication(const Reply& reply) noexcept {
    Replication found;
    if (reply.is_error() || !read_replication(reply.text_view(), found)) {
        return;
    }
    if (held_ != nullptr && found.empty) {
        owner_.give_up("it has had nothing of its primary since it was started, and does not reach it");
        return;
    }
    if (held_ != nullptr) {
        held_->tell(found.id);
    }
    if (store_.home != nullptr) {
        if (found.primary && !shard_->discovered()) {
            warn_once(&PrimaryWarnings::role,
                      "is a primary: it is read, and what asks it may have a long way; name a replica of it "
                      "that stands near by \"replica=\"");
        }
    } else if (health_.role() == Role::primary && shard_->discovered()) {
        if (found.primary) {
            warn_if_alone(found);
        } else {
            owner_.demote();
        }
    }
}

void Greeting::on_same_data(const std::string& other) noexcept {
    try {
        words_ = "by " + other;
    } catch (...) {
        // without memory the log does not say by which
    }
    owner_.give_up(
        "what it counts is counted in another region, too, and is not added up twice: give this "
        "region servers that follow its own primary");
}

void Greeting::warn_once(Warned of, const char* words) const noexcept {
    if (shard_ != nullptr && !(shard_->warned->*of).exchange(true)) {
        log_line(process_log(), LogLevel::warn, "rate limit: %s %s", health_.subject().c_str(), words);
    }
}

void Greeting::tell_time() noexcept {
    tells_time_ = true;
    warn_once(&PrimaryWarnings::time,
              "does not let scripts call TIME: token buckets and running requests count by the clocks of the "
              "machines, which must agree; give the user +time");
}

void Greeting::refuse_bitfields() noexcept {
    takes_bitfields_ = false;
    warn_once(
        &PrimaryWarnings::bitfield,
        "does not let its user call BITFIELD: each request to a token bucket takes a script, which costs "
        "Redis three times as much; give the user +bitfield");
}

/// With one replica the setting would stop all charges whenever either server is down.
void Greeting::warn_if_alone(const Replication& found) const noexcept {
    if (found.guarded || found.replicas < 2 || shard_->warned->replicas.exchange(true)) {
        return;
    }
    log_line(process_log(), LogLevel::warn,
             "rate limit: %s takes writes without replicas: when it is cut off from all of its %" PRIu64
             ", it goes on taking charges that are lost; set min-replicas-to-write 1 and "
             "min-replicas-max-lag 10",
             health_.subject().c_str(), found.replicas);
}

void Greeting::warn_if_evicting(const Reply& reply) const noexcept {
    if (!reply.is_error() && evicts(reply.text_view())) {
        warn_once(
            &PrimaryWarnings::eviction,
            "has maxmemory with a policy other than noeviction: an evicted window is a fresh allowance; "
            "set maxmemory-policy noeviction");
    }
}

}  // namespace rate_limit
