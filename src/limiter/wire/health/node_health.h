#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/pacing.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"
#include "limiter/wire/health/board_entry.h"
#include "limiter/wire/health/server_log.h"
#include "redis/decode.h"

namespace rate_limit {

/// The part of a node in its shard; a sentinel has no shard, and is asked which nodes there are. A seed is a
/// node of a cluster that is asked for its map alone.
enum class Role : unsigned char { primary, replica, sentinel, seed };

/// The role of one node and whether it is up, as this worker knows it and tells it: in the log, in counts,
/// and to all workers.
class NodeHealth {
public:
    enum class State : unsigned char {
        up,         ///< nothing has failed since it answered last, or ever
        suspended,  ///< it is connected, but late or not willing: what was sent may still be answered
        down,       ///< from the failure of its connection until the next one is greeted
        retired,    ///< its shard has no use for it any more
        ended,      ///< the worker, or its configuration, is at its end
    };

    /// All outlive this. Without a shard it is a sentinel or a seed.
    NodeHealth(const StoreConf& store, const ShardConf* shard, const NodeConf& conf, Role role);
    NodeHealth(const NodeHealth&) = delete;
    NodeHealth& operator=(const NodeHealth&) = delete;

    bool is(State state) const noexcept { return state_ == state; }
    bool usable() const noexcept { return is(State::up); }
    bool is_over() const noexcept { return state_ >= State::retired; }

    Role role() const noexcept { return role_; }
    bool is_primary() const noexcept { return role_ == Role::primary && !is(State::retired); }
    void become(Role role) noexcept;

    /// How logs name it.
    const std::string& subject() const noexcept { return subject_; }

    // Each of these makes it what it says. `reason` and `words`, the server's own, as in OutageLog.
    void mark_up() noexcept;
    void suspend(std::string_view reason, std::string_view words) noexcept;
    void mark_down(std::string_view reason, std::string_view words) noexcept;
    void retire() noexcept;
    void end() noexcept { state_ = is(State::retired) ? State::retired : State::ended; }

    /// Its connection is about to end: it is not up any more, and mark_down() follows.
    void doom() noexcept { state_ = usable() ? State::down : state_; }

    /// It is down, and that is no outage: the connection of a suspended node was closed as idle.
    void rest() noexcept { state_ = State::down; }

    /// A connection that was greeted is lost, with commands `in_flight` or not. True: that is no failure yet,
    /// for nothing was unanswered on it, or it is the first loss since the server answered a command.
    bool bears_loss(bool in_flight) noexcept;

    /// A command was answered: the next failure counts as a first one.
    void served() noexcept {
        backoff_.reset();
        may_reconnect_ = true;
    }

    /// The next try may do better than those before: it comes after the first step of the wait.
    void try_soon() noexcept { backoff_.reset(); }

    /// How long to wait for the next try or probe. A replica is wanted back within a second: reads go farther
    /// meanwhile.
    Msec next_wait() noexcept {
        constexpr Msec longest_of_replica = 1000;
        const Msec wait = backoff_.next(random_bits());
        return role_ == Role::replica ? std::min(wait, longest_of_replica) : wait;
    }

    void count_command() noexcept { entry_.count_command(); }
    void count_silent() noexcept { entry_.count(NodeError::silent); }

    /// It has answered `command` by an error, which is counted. tell_answer() follows where nothing else
    /// tells it: other faults suspend the node, or close the gate of charges.
    void count_error(Fault fault, std::string_view command, const Reply& reply) noexcept;

    /// The log has a line of an answer that is counted already. Whoever asks a server of no shard, as a
    /// sentinel, tells it.
    void tell_answer(Fault fault, std::string_view command, const Reply& reply) noexcept {
        if (shard_ != nullptr) {
            answers_.add(fault, command, reply);
        }
    }

    /// It has answered ASKING by an error. The command behind that gets MOVED then, which says nothing.
    void count_asking(const Reply& reply) noexcept;

    /// Says once what to do about a primary of the configuration that is a replica.
    void tell_demoted() noexcept;

    /// Tells all workers that it is in use, what it is, whether it is up, and how many microseconds its
    /// answers take.
    void call_roll(std::optional<std::uint64_t> answer_time) noexcept {
        entry_.call(is_primary(), usable(), answer_time);
    }

    /// The reason in the log for which it serves nothing: sentinels have a user of their own.
    const char* explain(Fault fault) const noexcept {
        const bool of_sentinel = fault == Fault::auth && role_ == Role::sentinel;
        return of_sentinel ? "auth: see sentinel_username and sentinel_password" : rate_limit::explain(fault);
    }

    /// Why it failed last, and in what words it said so; empty: it did not. Only of a seed, whose owner tells
    /// it.
    const std::string& trouble() const noexcept { return trouble_; }

private:
    /// How the log knows of it. A server of the configuration has lines of its own.
    enum class Known : unsigned char { not_yet, by_number, by_itself };

    /// Whether it has lines of its own, as most have; else it is told by its number.
    bool take_own_lines(const char* what, std::string_view reason) noexcept;
    void tell(const char* what, std::string_view reason, std::string_view words) noexcept;

    const StoreConf& store_;
    const ShardConf* const shard_;  // null: a sentinel or a seed
    const NodeConf& conf_;
    Role role_;
    State state_ = State::up;
    Known known_;
    bool may_reconnect_ = false;  // a command was answered since a lost connection was last replaced at once
    bool told_to_reload_ = false;
    Msec made_good_ = 0;  // when that was
    Backoff backoff_;
    std::string subject_;
    std::string trouble_;
    BoardEntry entry_;
    OutageLog outages_;
    AnswerLog answers_;
};

}  // namespace rate_limit
