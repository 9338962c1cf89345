#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/machine/workers/server_clock.h"
#include "core/nearness.h"
#include "core/topology/topology.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"
#include "limiter/wire/command.h"
#include "limiter/wire/connection/addresses.h"
#include "limiter/wire/connection/connection_room.h"
#include "limiter/wire/connection/line.h"
#include "limiter/wire/guide.h"
#include "limiter/wire/health/node_health.h"
#include "limiter/wire/node/command_sample.h"
#include "redis/decode.h"

namespace rate_limit {

enum class Access : unsigned char { read, write };

/// The side that a reply's fault is blamed on.
enum class Blame : unsigned char {
    command,  ///< or its key: the node may answer others
    node,     ///< it serves nothing
    writes,   ///< it takes no writes; of reads that says nothing
};

/// One Redis server as one worker sees it: its connection, and its unanswered commands.
///
/// The stages of a connection, which may be lost at any time:
///
///     none ─submit─▶ connecting ─▶ greeting ─answered─▶ open ─reconnect()─▶ draining ─all answered─▶ leaving
///                        ▲                                                                              │
///                        └──────────────────────────────────────────────────────────────────────────────┘
///
/// Whether the node is up:
///
///     up ─no answer in check_timeout, or it refuses to serve─▶ suspended ─probe answered─▶ up
///     up, suspended ─connection lost─▶ down ─next greeting answered─▶ up
///
/// A second connection is made beside a silent one, which a router between may have forgotten; a stopped
/// server takes the second one, too, and answers nothing. If that one is answered first, it takes over, and
/// the first one is read until what was sent over it is answered, or charge_timeout ends.
///
/// usable() turns false with the first failure and true with the next answered greeting or probe. A
/// connection that has answered and is lost is no failure yet: a server may close one just as a command is
/// written. The node then connects once more, at once, and what comes back may be sent to it again.
///
/// Its owner may retire() it: it answers what was sent, closes, and is then at its end().
class Node final : private Line::Owner, private Addresses::Owner {
public:
    class Listener {
    public:
        /// The node takes commands again after it did not.
        virtual void on_usable(Node& /*node*/) noexcept {}

        /// The node takes no commands.
        virtual void on_unusable(Node& /*node*/) noexcept {}

        /// A second connection has taken over from one that is still read: what is sent from now on may come
        /// to the server before what was sent before.
        virtual void on_second_line(Node& /*node*/) noexcept {}

        /// It says that it is a replica, and was taken for the primary.
        virtual void on_demoted(Node& /*node*/) noexcept {}

        /// It has been retired, and is at its end: it may be destroyed in another turn of the event loop.
        virtual void on_end(Node& node) noexcept = 0;

    protected:
        ~Listener() = default;
    };

    /// All but `conf` outlive this. Without a shard it is a sentinel or a seed: one that tells the topology,
    /// and has neither `sample` nor `guide`.
    Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener,
         CommandSample* sample = nullptr, Guide* guide = nullptr);
    ~Node();

    bool usable() const noexcept { return health_.usable(); }
    /// True when a command submitted now leaves in this turn of the loop.
    bool ready() const noexcept { return usable() && link_ == Link::open; }

    /// It has no connection, and has not failed.
    bool idle() const noexcept { return usable() && link_ == Link::none; }

    /// It is connected, but late or not willing: what was sent may still be answered.
    bool suspended() const noexcept { return health_.is(NodeHealth::State::suspended); }

    /// Commands that wait for an answer: what replica choice compares.
    std::size_t load() const noexcept { return line_->unanswered() + unsent_.size(); }

    /// Commands of this turn of the loop wait for its end: one more costs no write.
    bool gathers() const noexcept { return line_->gathers(); }

    /// For how many microseconds it has kept waiting at `now`, by TurnClock: a connection that is being made,
    /// or the oldest command. 0: nothing waits.
    std::uint64_t keeps_waiting(std::uint64_t now) const noexcept {
        return link_ == Link::connecting || link_ == Link::greeting ? now - connecting_
                                                                    : line_->keeps_waiting(now);
    }

    /// How many microseconds an answer of it may be expected to take at `now`: as long as its answers have
    /// taken, and no less than it keeps waiting. None: no answer has come on its present connection.
    std::optional<std::uint64_t> takes(std::uint64_t now) const noexcept {
        const std::optional<std::uint64_t> smoothed = answer_time_.smoothed();
        return smoothed ? std::max(*smoothed, keeps_waiting(now)) : smoothed;
    }
    const AnswerTime& answer_time() const noexcept { return answer_time_; }

    /// Connects within 100 ms, and whenever the connection is lost, without a command that needs it. False:
    /// this worker has no room for that.
    bool keep_connection() noexcept;

    /// Asks it for nothing but an answer, so that it is known how long that takes. Connects first where it
    /// must.
    void look() noexcept;

    /// Sends the command, or queues it while the connection is being made. On a node that is not usable it
    /// comes back unsent before this returns.
    void submit(Command& command) noexcept;

    /// Sends a command that another node has redirected here; `asks`: for this time only. False: it has been
    /// redirected too often, or nobody wants it any more.
    bool follow(Command& command, bool asks) noexcept;

    /// It stands for a server whose address is not known yet: what is submitted waits for hand_over(), or
    /// comes back unsent at shut_down().
    void stand_in() noexcept { link_ = Link::connecting; }

    /// Sends what waits for a connection on, each to the node that `node_for(const Command&)` names. What
    /// that one does not take, or nobody wants any more, comes back unsent.
    template <typename NodeFor>
    void hand_over(NodeFor&& node_for) noexcept {
        CommandQueue waiting = std::exchange(unsent_, {});
        while (Command* command = waiting.pop()) {
            Node& to = command->wanted() ? node_for(*command) : *this;
            if (&to == this || !to.follow(*command, false)) {
                command->given_back(*this, Delivery::unsent, nullptr);
            }
        }
        mark_idle();
    }

    /// `more`: the caller has more to send soon. Until it says that it has no more, nginx does not close the
    /// connection of a leaving worker as idle.
    void expect_more(bool more) noexcept {
        if (expects_more_ != more) {
            expects_more_ = more;
            mark_idle();
        }
    }

    /// A command was answered by an error, which is counted. If the node is to blame (loading, masterdown…),
    /// it is down until a probe says better. That its user may not run one command says nothing of others.
    Blame blame(Fault fault, std::string_view command, const Reply& reply, Access access) noexcept;

    /// See NodeHealth::tell_answer().
    void tell_answer(Fault fault, std::string_view command, const Reply& reply) noexcept {
        health_.tell_answer(fault, command, reply);
    }

    /// A primary answered that it is a replica: it gets no more writes on this connection. Its name is
    /// resolved again.
    void demote() noexcept;

    /// It has taken a write after that, on the same connection.
    void promote() noexcept { takes_writes_ = true; }

    /// False from demote() until promote(), or until the connection is gone.
    bool takes_writes() const noexcept { return takes_writes_; }

    /// Takes a new connection, perhaps to another server, as soon as all that was sent on this one is
    /// answered; at once where no command of a caller was. What is submitted meanwhile waits for it. Nothing
    /// happens while the node is down without a connection.
    void reconnect() noexcept;

    /// Reads the socket now, so that an answer that has arrived is not judged late.
    void read_now() noexcept;

    bool is_primary() const noexcept { return health_.is_primary(); }

    /// It is this to its shard from now on.
    void become(Role role) noexcept;

    /// msec_now() when its connection was made, or it took this role after that: what other nodes were told
    /// before, it may not know.
    Msec since() const noexcept { return since_; }

    /// Its shard has no use for it any more. Commands that wait for the connection come back; what was sent
    /// may still be answered, for charge_timeout at most.
    void retire() noexcept;

    /// It has been retired, and nothing is left of its connection.
    bool at_end() const noexcept { return health_.is(NodeHealth::State::retired) && !has_lines(); }

    /// See NodeHealth::served().
    void served() noexcept { health_.served(); }

    /// Its user may not read: for a second reads go to other nodes, if there are any.
    void refuse_reads() noexcept { reads_again_ = msec_now() + 1000; }
    bool answers_reads() const noexcept { return msec_now() >= reads_again_; }

    /// Closes the connection for good; what is unanswered comes back. For the end of the process.
    void shut_down() noexcept;

    // See Greeting.
    ServerClock& clock() noexcept { return line_->greeting().clock(); }
    void tell_time() noexcept { line_->greeting().tell_time(); }
    void refuse_bitfields() noexcept { line_->greeting().refuse_bitfields(); }
    bool takes_bitfields() const noexcept { return line_->greeting().takes_bitfields(); }

    /// Its address, as other nodes name it.
    Endpoint endpoint() const { return {conf_.peer, conf_.port}; }

    /// Whether that is the same server, as far as names and addresses tell. Of the addresses of a name it is
    /// at the one that is in use; while none is, at none of several.
    bool is_at(const NodeConf& conf) const noexcept { return is_same_server(conf_, address_in_use(), conf); }

    /// See NodeHealth::trouble().
    const std::string& trouble() const noexcept { return health_.trouble(); }

    /// Whether the topology names it, and not the configuration.
    bool learned() const noexcept { return conf_.learned; }

    /// Tells all workers that it is in use, and how it is; asks a server of which nothing was heard for 10 s
    /// whether the connection still leads there. To be called about once a second.
    void call_roll() noexcept;

    /// The address of its connection, open or being made; null: there is none. Good until the next try.
    const Address* address_in_use() const noexcept { return line_->is_open() ? &line_->address() : nullptr; }

    /// Its address, as the configuration or the topology has it.
    const std::string& name() const noexcept { return conf_.text; }

private:
    /// The state of the connection.
    enum class Link : unsigned char {
        none,
        connecting,  ///< or its host is being resolved
        greeting,
        open,
        draining,  ///< it is to be left for another one, once all that was sent is answered
        leaving,   ///< it is being closed for another one
    };

    void on_connected(Line& line) noexcept override;
    void on_greeted(Line& line) noexcept override;
    void on_refused(Line& line, Fault fault, std::string_view command, const Reply& reply,
                    bool often) noexcept override;
    void on_replica(Line& line) noexcept override;
    void on_answer(Line& line, Command& command, const Reply& reply) noexcept override;
    void on_silent(Line& line) noexcept override;
    void on_broken(Line& line) noexcept override;
    void on_closed(Line& line, const char* reason) noexcept override;
    void on_close_idle(Line& line) noexcept override;
    void on_resolved() noexcept override;

    void connect() noexcept;
    void connect_soon() noexcept;
    void try_address() noexcept;
    void suspend(std::string_view reason, std::string_view words = {}) noexcept;
    void go_down(const char* reason) noexcept;
    void try_later() noexcept;
    void leave_if_drained() noexcept;
    void leave() noexcept;
    void replace() noexcept;
    void return_unsent() noexcept;
    void send_unsent() noexcept;
    void mark_idle() noexcept { line_->expect_more(!unsent_.empty(), expects_more_); }
    std::unique_ptr<Line> new_line();
    void lost(const char* reason) noexcept;
    void relieve() noexcept;
    void take_over() noexcept;
    void drop(std::unique_ptr<Line>& line) noexcept;
    void end_if_done() noexcept;
    bool is(const std::unique_ptr<Line>& one, const Line& line) const noexcept { return one.get() == &line; }
    bool has_lines() const noexcept { return line_->is_open() || relief_ != nullptr || former_ != nullptr; }
    bool in_cluster() const noexcept { return shard_ != nullptr && shard_->in_cluster; }

    static void on_retry(void* self) noexcept;
    static void on_sweep(void* self) noexcept;

    const StoreConf& store_;
    const ShardConf* const shard_;  // null: a sentinel or a seed
    const NodeConf conf_;
    Listener& listener_;
    CommandSample* const sample_;  // the shard's
    Guide* const guide_;
    NodeHealth health_;
    Link link_ = Link::none;
    std::uint64_t connecting_ = 0;  // since when, by TurnClock
    Msec since_ = 0;
    bool takes_writes_ = true;
    bool expects_more_ = false;
    Msec reads_again_ = 0;  // not before then
    ConnectionRoom::Place kept_;
    CommandQueue unsent_;  // wait for the connection
    AnswerTime answer_time_;
    std::unique_ptr<Line> line_;
    std::unique_ptr<Line> relief_;  // is made beside that, which is silent; null: none is
    std::unique_ptr<Line> former_;  // was replaced by a relief, and is still read; null: none is
    Addresses addresses_;

    Timer retry_{this, on_retry,
                 Timer::Worker::stays};  // connecting: the end of resolving; else the next try or probe
    Timer sweep_{this, on_sweep, Timer::Worker::leaves};  // lines that have ended are at work until then
};

}  // namespace rate_limit
