#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/machine/server_clock.h"
#include "core/pacing.h"
#include "core/topology/topology.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"
#include "limiter/wire/addresses.h"
#include "limiter/wire/board_entry.h"
#include "limiter/wire/command.h"
#include "limiter/wire/command_sample.h"
#include "limiter/wire/connection.h"
#include "limiter/wire/server_log.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/script.h"

namespace rate_limit {

struct Replication;

enum class Access : unsigned char { read, write };

/// The part of a node in its shard; a sentinel has no shard, and is asked which nodes there are. A seed is a
/// node of a cluster that is asked for its map alone.
enum class Role : unsigned char { primary, replica, sentinel, seed };

/// The side that a reply's fault is blamed on.
enum class Blame : unsigned char {
    command,  ///< or its key: the node may answer others
    node,     ///< it serves nothing
    writes,   ///< it takes no writes; of reads that says nothing
};

/// One Redis server as one worker sees it: its connection, its unanswered commands, whether it is up.
///
///     idle ─submit─▶ connecting ─▶ greeting ─all answered─▶ ready ─no answer in check_timeout,─▶ suspended
///      ▲                 │            │                      │ ▲    or it refuses to serve          │  │
///      │                 │            │                      │ └────────── probe answered ──────────┘  │
///      ├── nothing was unanswered, or the first loss ────────┤                                         │
///      ├── all answered ◀─ draining ◀── reconnect() ─────────┤                                         │
///      │                 ▼            ▼    connection lost   ▼          nothing for charge_timeout     │
///      └                down ◀──────────────────────────────────────────────────────────────────────────┘
///                         └─ backoff ─▶ connecting
///
/// usable() turns false with the first failure and true with the next answered greeting or probe. A
/// connection that has answered and is lost is no failure yet: a server may close one just as a command is
/// written. The node then connects once more, at once, and what comes back may be sent to it again.
///
/// Its owner may retire() it: it answers what was sent, closes, and is then at its end().
class Node final : private Connection::Owner, private Addresses::Owner {
public:
    class Listener {
    public:
        /// The node takes commands again after it did not.
        virtual void on_usable(Node& /*node*/) noexcept {}

        /// The node takes no commands.
        virtual void on_unusable(Node& /*node*/) noexcept {}

        /// It says that it is a replica, and was taken for the primary.
        virtual void on_demoted(Node& /*node*/) noexcept {}

        /// It has answered that another node serves the slot of the command, for now or from now on. True:
        /// the command is the listener's, to be sent there. Only for nodes of a cluster.
        virtual bool on_redirect(Node& /*node*/, Command& /*command*/, const Reply& /*reply*/) noexcept {
            return false;
        }

        /// It has been retired, and is at its end: it may be destroyed in another turn of the event loop.
        virtual void on_end(Node& node) noexcept = 0;

    protected:
        ~Listener() = default;
    };

    /// `store`, `shard`, `listener` and `sample` outlive this. Without a shard it is a sentinel or a seed:
    /// one that tells the topology, and has no `sample`.
    Node(const StoreConf& store, const ShardConf* shard, NodeConf conf, Role role, Listener& listener,
         CommandSample* sample = nullptr);
    ~Node() { shut_down(); }

    bool usable() const noexcept { return up_; }
    /// True when a command submitted now leaves in this turn of the loop.
    bool ready() const noexcept { return up_ && state_ == State::ready; }

    /// It has no connection, and has not failed.
    bool idle() const noexcept { return state_ == State::idle; }

    /// It is connected, but late or not willing: what was sent may still be answered.
    bool suspended() const noexcept { return state_ == State::suspended; }

    /// Commands that wait for an answer: what replica choice compares.
    std::size_t load() const noexcept { return sent_.size() + unsent_.size(); }

    /// Commands of this turn of the loop wait for its end: one more costs no write.
    bool gathers() const noexcept { return connection_.gathers(); }

    /// Sends the command, or queues it while the connection is being made. On a node that is not usable it
    /// comes back unsent before this returns.
    void submit(Command& command) noexcept;

    /// Sends a command that another node has redirected here; `asks`: for this time only. False: it has been
    /// redirected too often, or nobody wants it any more.
    bool follow(Command& command, bool asks) noexcept;

    /// `more`: the caller has more to send soon. Until it says that it has no more, nginx does not close the
    /// connection of a leaving worker as idle.
    void expect_more(bool more) noexcept {
        expects_more_ = more;
        mark_idle();
    }

    /// A command was answered by an error, which is counted. If the node is to blame (loading, masterdown…),
    /// it is down until a probe says better.
    Blame blame(Fault fault, std::string_view command, const Reply& reply, Access access) noexcept;

    /// A primary answered that it is a replica: it gets no more writes on this connection. Its name is
    /// resolved again.
    void demote() noexcept;

    /// It has taken a write after that, on the same connection.
    void promote() noexcept { takes_writes_ = true; }

    /// False from demote() until promote(), or until the connection is gone.
    bool takes_writes() const noexcept { return takes_writes_; }

    /// Takes a new connection, perhaps to another server, as soon as all that was sent on this one is
    /// answered. What is submitted meanwhile waits for it. Nothing happens while the node is down.
    void reconnect() noexcept;

    /// Reads the socket now, so that an answer that has arrived is not judged late.
    void read_now() noexcept;

    bool is_primary() const noexcept { return role_ == Role::primary && !retired_; }

    /// It is this to its shard from now on. A new primary is given its scripts before anything else, on the
    /// connection that it has.
    void become(Role role) noexcept;

    /// Its shard has no use for it any more. Commands that wait for the connection come back; what was sent
    /// may still be answered, for charge_timeout at most.
    void retire() noexcept;

    /// It has been retired, and nothing is left of its connection.
    bool at_end() const noexcept { return retired_ && !connection_.is_open(); }

    /// A command was answered: the next failure counts as a first one.
    void served() noexcept {
        backoff_.reset();
        may_reconnect_ = true;
    }

    /// Closes the connection for good; what is unanswered comes back. For the end of the process.
    void shut_down() noexcept;

    /// The clock of the server that it is connected to, as far as it is known.
    ServerClock& clock() noexcept { return clock_; }
    const ServerClock& clock() const noexcept { return clock_; }

    /// The server does not let scripts ask for the time: on this connection they are told this machine's.
    void tell_time() noexcept;

    /// The user may not call BITFIELD: on this connection scripts do.
    void refuse_bitfields() noexcept;
    bool takes_bitfields() const noexcept { return takes_bitfields_; }

    /// Its address, as other nodes name it.
    Endpoint endpoint() const { return {conf_.peer, conf_.port}; }

    /// Whether that is the same server, as far as names and addresses tell. Of the addresses of a name it is
    /// at the one that is in use; while none is, at none of several.
    bool is_at(const NodeConf& conf) const noexcept;

    /// Why it failed last, and in what words it said so; empty: it did not. Only of a seed, whose owner tells
    /// it.
    const std::string& trouble() const noexcept { return trouble_; }

    /// Whether the topology names it, and not the configuration.
    bool learned() const noexcept { return conf_.learned; }

    /// Tells all workers that it is in use, what it is, and whether it is up.
    void call_roll() noexcept { entry_.call(is_primary(), usable()); }

    /// The address of its connection, open or being made; null: there is none. Good until the next try.
    const Address* address_in_use() const noexcept { return connection_.is_open() ? &in_use_ : nullptr; }

    /// Its address, as the configuration or the topology has it.
    const std::string& name() const noexcept { return conf_.text; }

private:
    enum class State : unsigned char { idle, connecting, greeting, ready, draining, suspended, down };

    /// A question to the node before, or instead of, anything a caller wants. One of each kind per node: none
    /// is sent again before it is answered.
    class Greeting final : public Command {
    public:
        enum class Kind : unsigned char {
            auth,
            select,
            readonly,
            readwrite,
            memory,
            replication,
            load,
            ping
        };
        explicit Greeting(Kind kind = Kind::load, const char* name = "SCRIPT LOAD") noexcept
            : kind_(kind), name_(name) {}
        std::string_view encode(CommandWriter& writer) override;
        const char* name() const noexcept override { return name_; }
        bool redirectable() const noexcept override { return false; }
        void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;
        const Node* node = nullptr;
        const Script* script = nullptr;  // that Kind::load loads
        bool pending = false;

    private:
        const Kind kind_;
        const char* const name_;
    };

    void on_connected() noexcept override;
    void on_reply(const Reply& reply) noexcept override;
    void on_closed(const char* reason) noexcept override;
    void on_close_idle() noexcept override;
    void on_resolved() noexcept override;

    void count_error(Fault fault, std::string_view command, const Reply& reply) noexcept;
    void tell_replaced(const Command& command, const Reply& reply) noexcept;
    void connect() noexcept;
    void follow_name() noexcept;
    void try_address() noexcept;
    void find_address() noexcept;
    void prepare_for_writes() noexcept;
    void greet_with(Greeting& greeting) noexcept;
    Greeting& kind_of_reads() noexcept;
    void keep_kind_of_reads(const Greeting& answered) noexcept;
    void greeted(const Reply& reply) noexcept;
    void note_words(const Reply& reply) noexcept;
    void reject_greeting(std::string_view command, const Reply& reply) noexcept;
    void mark_up() noexcept;
    void mark_down(const char* reason) noexcept;
    void suspend_by(Fault fault, std::string_view command, const Reply& reply) noexcept;
    void suspend(std::string_view reason, std::string_view words = {}) noexcept;
    void log_outage(const char* what, std::string_view reason, std::string_view words) noexcept;
    bool goes_on_without(bool in_flight) noexcept;
    void leave_if_drained() noexcept;
    bool send(Command& command) noexcept;
    bool write(Command& command);
    void give_back(Command& command, Delivery delivery, const Reply* reply) noexcept;
    bool in_cluster() const noexcept { return shard_ != nullptr && shard_->in_cluster; }
    Command* take_sent() noexcept;
    void send_unsent() noexcept;
    void mark_idle() noexcept;
    void expect_next() noexcept;
    /// Whether a leaving worker stays for these commands. Nobody needs what a sentinel or a seed would say by
    /// then.
    bool keeps_worker(const CommandQueue& commands) const noexcept {
        return shard_ != nullptr && !commands.empty();
    }
    void return_unsent() noexcept;
    void watch() noexcept;
    Msec oldest_age() const noexcept;
    void take_replication(const Reply& reply) noexcept;
    const Login& login() const noexcept;
    void warn_if_evicting(const Reply& reply) const noexcept;
    void warn_if_alone(const Replication& found) const noexcept;

    static void on_watch(void* self) noexcept;
    static void on_retry(void* self) noexcept;

    const StoreConf& store_;
    const ShardConf* const shard_;  // null: a sentinel or a seed
    const NodeConf conf_;
    Role role_;
    std::string subject_;  // how logs name it
    Listener& listener_;
    CommandSample* const sample_;  // the shard's; null: it has none
    BoardEntry entry_;

    State state_ = State::idle;
    bool up_ = true;
    bool ended_ = false;  // shut_down() was called
    bool retired_ = false;
    bool quiet_ = false;    // nginx closes the connection itself: not an outage
    bool leaving_ = false;  // reconnect() was called: the connection closes once all is answered
    bool renamed_ = false;  // the connection closes as its name leads to another server: not an outage
    bool greeted_ = false;  // the connection, or the last one, has been
    bool takes_writes_ = true;
    bool told_to_reload_ = false;
    bool expects_more_ = false;
    bool records_ = false;         // the reply that comes next has a tree
    Msec made_good_ = 0;           // when a lost connection was last replaced at once
    bool may_reconnect_ = false;   // a command was answered since then
    unsigned refused_probes_ = 0;  // in a row, on this connection
    bool answered_ = false;        // something was, on this connection
    std::string refusal_;          // the server's words, where it refused the greeting
    std::string only_words_;       // its words, where an error is all that it has said on this connection
    std::string trouble_;
    Connection connection_;
    ServerClock clock_;
    bool tells_time_ = false;
    bool takes_bitfields_ = true;
    Greeting auth_{Greeting::Kind::auth, "AUTH"};
    Greeting select_{Greeting::Kind::select, "SELECT"};
    Greeting readonly_{Greeting::Kind::readonly, "READONLY"};
    Greeting readwrite_{Greeting::Kind::readwrite, "READWRITE"};
    Greeting memory_{Greeting::Kind::memory, "INFO"};
    Greeting replication_{Greeting::Kind::replication, "INFO"};
    std::array<Greeting, script_count> loads_;
    Greeting ping_{Greeting::Kind::ping, "PING"};
    CommandQueue sent_;    // in the order in which answers will come
    CommandQueue unsent_;  // wait for the connection
    Backoff backoff_;
    Addresses addresses_;
    Address in_use_{};  // address at the last try: addresses_ may have been resolved again since
    CommandWriter writer_;
    OutageLog outages_;
    AnswerLog answers_;

    Timer watch_{this, on_watch, Timer::Worker::stays};  // the oldest command's deadline
    Timer retry_{this, on_retry,
                 Timer::Worker::stays};  // connecting: its deadline; down or suspended: the next try or probe
};

}  // namespace rate_limit
