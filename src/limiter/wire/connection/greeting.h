#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/machine/workers/server_clock.h"
#include "limiter/store_conf.h"
#include "limiter/wire/command.h"
#include "limiter/wire/connection/held_data.h"
#include "limiter/wire/health/node_health.h"
#include "redis/command.h"
#include "redis/decode.h"
#include "redis/script.h"

namespace rate_limit {

struct Replication;

/// The questions to a node before, or instead of, anything that a caller wants; and what is known of the
/// server at the other end of its connection.
class Greeting final : private HeldData::Owner {
public:
    class Owner {
    public:
        /// False: it cannot be sent, and the connection ends.
        virtual bool send(Command& command) noexcept = 0;

        /// The server takes commands.
        virtual void on_greeted() noexcept = 0;

        /// It has answered `command`, the probe, by `fault`. `often`: it did so again and again.
        virtual void on_refused(Fault fault, std::string_view command, const Reply& reply,
                                bool often) noexcept = 0;

        /// Its connection is of no use: it is not authenticated, writes into another database, or has what
        /// another region counts.
        virtual void give_up(const char* reason) noexcept = 0;

        /// It says that it is a replica, and is taken for the primary.
        virtual void demote() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// All outlive this. Without a shard it is a sentinel or a seed.
    Greeting(const StoreConf& store, const ShardConf* shard, NodeHealth& health, Owner& owner)
        : store_(store),
          shard_(shard),
          health_(health),
          owner_(owner),
          held_(store.is_of_regions() ? std::make_unique<HeldData>(store, health.subject(),
                                                                   static_cast<HeldData::Owner&>(*this))
                                      : nullptr) {}

    /// The connection is new.
    void begin() noexcept;

    /// The connection has ended.
    void end() noexcept;

    /// To be called about once a second while the server is in use. It has been silent for so many
    /// milliseconds.
    void call_roll(Msec silent_for) noexcept;

    /// Asks whether the server takes commands by now.
    void probe() noexcept { ask(ping_); }

    /// The node has another role on the connection that it has. A new primary is given its scripts before
    /// anything else.
    void change_role() noexcept;

    /// The server's words, where it has refused the greeting, or an error is all that it has said on the
    /// connection; else empty.
    std::string take_words() noexcept { return std::exchange(words_, {}); }

    /// The server's clock, as far as it is known.
    ServerClock& clock() noexcept { return clock_; }

    /// The server does not let scripts ask for the time: on this connection they are told this machine's.
    void tell_time() noexcept;
    bool tells_time() const noexcept { return tells_time_; }

    /// The user may not call BITFIELD: on this connection scripts do.
    void refuse_bitfields() noexcept;
    bool takes_bitfields() const noexcept { return takes_bitfields_; }

private:
    /// One of each kind per node: none is sent again before it is answered.
    class Question final : public Command {
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
        explicit Question(Kind of = Kind::load, const char* name = "SCRIPT LOAD") noexcept
            : kind(of), name_(name) {}
        std::string_view encode(CommandWriter& writer) override;
        const char* name() const noexcept override { return name_; }
        bool redirectable() const noexcept override { return false; }
        void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;
        const Kind kind;
        Greeting* greeting = nullptr;
        const Script* script = nullptr;  // that Kind::load loads
        bool pending = false;

    private:
        const char* const name_;
    };

    void on_same_data(const std::string& other) noexcept override;
    void ask(Question& question) noexcept;
    void take_role() noexcept;
    void prepare_for_writes() noexcept;
    Question& kind_of_reads() noexcept;
    void keep_kind_of_reads(const Question& answered) noexcept;
    void take(const Question& answered, const Reply& reply) noexcept;
    void note_words(const Reply& reply) noexcept;
    void reject(std::string_view command, const Reply& reply) noexcept;
    void take_pong(const Reply& reply) noexcept;
    void take_replication(const Reply& reply) noexcept;

    using Warned = std::atomic<bool> PrimaryWarnings::*;

    /// The first worker that finds it says so; of a server of no shard nobody does.
    void warn_once(Warned of, const char* words) const noexcept;
    void warn_if_evicting(const Reply& reply) const noexcept;
    void warn_if_alone(const Replication& found) const noexcept;
    bool asks_replication() const noexcept;
    const Login& login() const noexcept;
    bool in_cluster() const noexcept { return shard_ != nullptr && shard_->in_cluster; }

    const StoreConf& store_;
    const ShardConf* const shard_;
    NodeHealth& health_;
    Owner& owner_;
    Msec asked_replication_ = 0;
    const std::unique_ptr<HeldData> held_;  // null: the store has no regions
    ServerClock clock_;
    bool tells_time_ = false;
    bool takes_bitfields_ = true;
    bool answered_ = false;        // something was, on this connection
    unsigned refused_probes_ = 0;  // in a row, on this connection
    std::string words_;
    Question auth_{Question::Kind::auth, "AUTH"};
    Question select_{Question::Kind::select, "SELECT"};
    Question readonly_{Question::Kind::readonly, "READONLY"};
    Question readwrite_{Question::Kind::readwrite, "READWRITE"};
    Question memory_{Question::Kind::memory, "INFO"};
    Question replication_{Question::Kind::replication, "INFO"};
    std::array<Question, script_count> loads_;
    Question ping_{Question::Kind::ping, "PING"};
};

}  // namespace rate_limit
