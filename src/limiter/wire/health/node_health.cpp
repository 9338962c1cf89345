#include "limiter/wire/health/node_health.h"

#include <utility>

#include "limiter/zone.h"

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

NodeHealth::NodeHealth(const StoreConf& store, const ShardConf* shard, const NodeConf& conf, Role role)
    : store_(store),
      shard_(shard),
      conf_(conf),
      role_(role),
      known_(conf.learned ? Known::not_yet : Known::by_itself),
      subject_(subject_of(store, conf, shard, role)),
      entry_(*store.zone, counted_as(store, shard, conf, role), kind_of(shard, conf), role == Role::primary),
      outages_(subject_, "is up again",
               shard == nullptr && conf.learned ? LogLevel::notice : LogLevel::error),
      answers_(subject_) {}

void NodeHealth::become(Role role) noexcept {
    role_ = role;
    entry_.set_primary(role == Role::primary);
    try {
        subject_ = subject_of(store_, conf_, shard_, role);
    } catch (...) {
        // without memory the log calls it what it was
    }
}

void NodeHealth::mark_up() noexcept {
    state_ = State::up;
    known_ = Known::by_itself;
    entry_.set_up(true);
    outages_.ended();
}

void NodeHealth::suspend(std::string_view reason, std::string_view words) noexcept {
    state_ = State::suspended;
    entry_.set_up(false);
    tell("does not serve", reason, words);
}

void NodeHealth::mark_down(std::string_view reason, std::string_view words) noexcept {
    state_ = State::down;
    entry_.count(NodeError::connection);
    entry_.set_up(false);
    tell("is down", reason, words);
}

void NodeHealth::retire() noexcept {
    state_ = State::retired;
    entry_.set_primary(false);
    outages_.ended("is not used any more");
}

bool NodeHealth::bears_loss(bool in_flight) noexcept {
    if (!in_flight) {
        return true;
    }
    entry_.count(NodeError::connection);
    const bool first = std::exchange(may_reconnect_, false) && msec_now() - made_good_ >= Backoff::first_wait;
    made_good_ = first ? msec_now() : made_good_;
    return first;
}

void NodeHealth::count_error(Fault fault, std::string_view command, const Reply& reply) noexcept {
    entry_.count(error_of(fault));
    if (!is_node_fault(fault)) {
        may_reconnect_ = true;
        tell_answer(fault, command, reply);
    }
}

void NodeHealth::count_asking(const Reply& reply) noexcept {
    const Fault fault = fault_of(reply);
    entry_.count(error_of(fault));
    answers_.add(fault, "ASKING", reply);
}

void NodeHealth::tell_demoted() noexcept {
    const bool named = !conf_.host.empty();
    // The sentinel or node that has named a learned one is asked again.
    if (conf_.learned || (named && store_.resolves_again) || std::exchange(told_to_reload_, true)) {
        return;
    }
    log_line(process_log(), LogLevel::error,
             "rate limit: %s is a replica now: unless the same address leads to the new primary "
             "before long, %s",
             subject_.c_str(),
             named ? "reload nginx when the name leads there, or add \"resolver\" to \"http\""
                   : "name that one in \"shard\" and reload nginx, for an address without a name "
                     "cannot be resolved again");
}

bool NodeHealth::take_own_lines(const char* what, std::string_view reason) noexcept {
    if (known_ == Known::by_itself) {
        return true;
    }
    try {
        NewcomerLog& newcomers = NewcomerLog::of(store_.name);
        if (newcomers.admit()) {
            known_ = Known::by_itself;
        } else if (known_ == Known::not_yet) {
            newcomers.hold_back(subject_, what, reason);
            known_ = Known::by_number;
        }
    } catch (...) {
        // without memory nothing is told
    }
    return known_ == Known::by_itself;
}

void NodeHealth::tell(const char* what, std::string_view reason, std::string_view words) noexcept {
    if (role_ != Role::seed) {
        if (take_own_lines(what, reason)) {
            outages_.failed(what, reason, words);
        }
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
