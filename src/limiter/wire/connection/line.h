#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/nearness.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"
#include "limiter/wire/command.h"
#include "limiter/wire/connection/connection.h"
#include "limiter/wire/connection/greeting.h"
#include "limiter/wire/health/node_health.h"
#include "redis/command.h"
#include "redis/reply.h"

namespace rate_limit {

/// One connection of a node to its server: the deadlines on it, what was sent over it and has no answer yet,
/// and what is known of the server at its other end. It may be lost, and opened again.
class Line final : private Connection::Owner, private Greeting::Owner {
public:
    class Owner {
    public:
        /// The server is connected, and is asked whether it takes commands.
        virtual void on_connected(Line& line) noexcept = 0;

        /// The server takes commands.
        virtual void on_greeted(Line& line) noexcept = 0;

        /// See Greeting::Owner.
        virtual void on_refused(Line& line, Fault fault, std::string_view command, const Reply& reply,
                                bool often) noexcept = 0;

        /// It says that it is a replica, and is taken for the primary.
        virtual void on_replica(Line& line) noexcept = 0;

        /// The command, which was sent on the line, is answered. It is the owner's again.
        virtual void on_answer(Line& line, Command& command, const Reply& reply) noexcept = 0;

        /// The oldest command has waited for patience(), or longer. Told once for each such command, and
        /// again by the next one.
        virtual void on_silent(Line& line) noexcept = 0;

        /// It is of no use, and ends: on_closed() follows.
        virtual void on_broken(Line& line) noexcept = 0;

        /// See Connection::Owner.
        virtual void on_closed(Line& line, const char* reason) noexcept = 0;
        virtual void on_close_idle(Line& line) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// All but `peer` outlive this. Without a shard it leads to a sentinel or a seed. Throws std::bad_alloc.
    Line(const StoreConf& store, const ShardConf* shard, const std::string& peer, NodeHealth& health,
         AnswerTime& answer_time, Owner& owner)
        : store_(store),
          in_shard_(shard != nullptr),
          health_(health),
          answer_time_(answer_time),
          owner_(owner),
          greeting_(store, shard, health, *this),
          connection_(*this, store, peer) {
        expect_next();
    }

    /// Connects, and asks the server whether it takes commands, within connect_timeout. Null, or why that
    /// failed at once; the text is good until the next call.
    const char* open(const Address& address) noexcept;

    bool is_open() const noexcept { return connection_.is_open(); }
    bool broke_handshake() const noexcept { return connection_.broke_handshake(); }
    bool gathers() const noexcept { return connection_.gathers(); }

    /// The address to which it was opened last.
    const Address& address() const noexcept { return address_; }

    /// False when the command could not be handed to the connection: it is the caller's again, and the
    /// connection ends, or the next try would fail in the same way.
    bool send(Command& command) noexcept override;

    /// Commands that wait for an answer.
    std::size_t unanswered() const noexcept { return sent_.size(); }

    /// Nobody answers what was sent.
    void give_back(Node& node) noexcept;

    /// See Connection.
    void close(const char* reason) noexcept { connection_.close(reason); }
    void write_now() noexcept { connection_.write_now(); }
    void read_now() noexcept {
        if (!sent_.empty()) {
            connection_.read_now();
        }
    }

    /// `more`: the owner has commands for it that are not sent, or will have. nginx closes a connection of a
    /// leaving worker where nothing waits; the worker stays where something does.
    void expect_more(bool unsent, bool more) noexcept;

    Greeting& greeting() noexcept { return greeting_; }
    const Greeting& greeting() const noexcept { return greeting_; }

    /// For how many milliseconds nothing has come over it.
    Msec silent_for() const noexcept { return msec_now() - heard_; }

    /// How long a command waits, in milliseconds, before the node counts as silent: check_timeout, or four
    /// times as long as its answers take where that is more. While nobody knows how long they take, it is
    /// judged by connect_timeout, as one that is being connected is: it may be farther than check_timeout.
    Msec patience() const noexcept {
        const auto takes = answer_time_.smoothed();
        return std::max<Msec>(store_.check_timeout, takes ? *takes * 4 / 1000 : store_.connect_timeout);
    }

    /// Another line is in use: what is still answered here says nothing of how long the server takes.
    void measure_no_more() noexcept { measuring_ = false; }

    /// For how many microseconds, at least, its oldest command has waited at `now`, by TurnClock; 0: none
    /// waits. That one may be older than the command by which the server is measured: of it the time is known
    /// to the millisecond.
    std::uint64_t keeps_waiting(std::uint64_t now) const noexcept {
        const Msec age = sent_.empty() ? 0 : msec_now() - sent_.head()->sent_;
        const std::uint64_t at_least = age > 1 ? (age - 1) * 1000 : 0;
        return std::max(at_least, measuring_ ? now - since_ : 0);
    }

private:
    enum class Stage : unsigned char {
        connecting,
        greeting,  ///< the server is asked whether it takes commands
        met,       ///< it has answered that
    };

    void on_connected() noexcept override;
    void on_reply(const Reply& reply) noexcept override;
    void on_closed(const char* reason) noexcept override;
    void on_close_idle() noexcept override { owner_.on_close_idle(*this); }
    void on_greeted() noexcept override;
    void on_refused(Fault fault, std::string_view command, const Reply& reply, bool often) noexcept override {
        meet();
        owner_.on_refused(*this, fault, command, reply, often);
    }
    void give_up(const char* reason) noexcept override;
    void demote() noexcept override { owner_.on_replica(*this); }

    void meet() noexcept;
    Command* take() noexcept;
    void measure(Command& command) noexcept;
    void measured(const Command& command) noexcept;
    void expect_next() noexcept;
    void mark_idle() noexcept;
    void look_at_oldest() noexcept;
    static void on_watch(void* self) noexcept;

    const StoreConf& store_;
    const bool in_shard_;
    NodeHealth& health_;
    AnswerTime& answer_time_;
    Owner& owner_;
    Stage stage_ = Stage::connecting;
    bool unsent_ = false;  // see expect_more()
    bool more_ = false;
    bool records_ = false;     // the reply that comes next has a tree
    Msec heard_ = 0;           // when something came last
    bool measuring_ = false;   // the answer to one of sent_ is measured
    std::uint64_t since_ = 0;  // from then on, by TurnClock
    CommandQueue sent_;        // in the order in which answers will come
    CommandWriter writer_;
    Address address_{};
    Greeting greeting_;
    Connection connection_;
    Timer watch_{this, on_watch, Timer::Worker::stays};  // until met: connect_timeout; then the oldest
                                                         // command's deadline
};

}  // namespace rate_limit
