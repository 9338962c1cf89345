#pragma once

#include <cstddef>
#include <cstdint>

#include "limiter/wire/command.h"

namespace rate_limit {

struct ShardConf;

/// One question to one sentinel about the master of one shard.
class SentinelQuery final : public Command {
public:
    enum class Kind : unsigned char {
        master,    ///< its address
        replicas,  ///< which replicas it has
        peers,     ///< which other sentinels watch it
    };

    class Owner {
    public:
        /// It is over; `reply` is null where there is none. The query may be taken again.
        virtual void on_answer(Kind kind, std::size_t shard, Node& sentinel, const Reply* reply) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// Asks. `owner` outlives the node. `shard` is the index of `conf`. False without memory.
    static bool ask(Owner& owner, Node& sentinel, Kind kind, std::size_t shard,
                    const ShardConf& conf) noexcept;

    std::string_view encode(CommandWriter& writer) override;
    const char* name() const noexcept override;
    void answered(Node& node, Delivery delivery, const Reply* reply) noexcept override;

private:
    Owner* owner_ = nullptr;
    const ShardConf* conf_ = nullptr;
    std::size_t shard_ = 0;
    Kind kind_ = Kind::master;
};

}  // namespace rate_limit
