#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "ngx/conf/redis_conf.h"
#include "ngx/wire/node.h"

namespace rate_limit {

// Why a request has no answer: text for a log line. The first one is for where choose_primary() finds none.
inline constexpr const char* no_primary = "the primary of the shard is not up";
inline constexpr const char* no_answer = "the primary did not answer";

/// The servers of one shard as one worker sees them.
class Nodes {
public:
    Nodes(const StoreConf& store, const ShardConf& shard, Node::Listener& listener);

    Node& primary() noexcept { return primary_; }
    const Node& primary() const noexcept { return primary_; }
    const std::vector<std::unique_ptr<Node>>& replicas() const noexcept { return replicas_; }

    /// The node that a read goes to next: of the usable replicas not yet `asked` one that was given a command
    /// in this turn of the loop, as one more costs no write there; else the one with the least load, in turn
    /// among equals; if there is none, the primary, unless it was asked; else null.
    Node* choose(const Node* const* asked, std::size_t count) noexcept;

    /// The primary, if it can be asked for what only a primary knows or does; else null.
    Node* choose_primary() noexcept {
        return primary_.usable() && primary_.takes_writes() ? &primary_ : nullptr;
    }

    /// Reads the answers that lie in the sockets.
    void read_now() noexcept;

    void shut_down() noexcept;

private:
    Node primary_;
    std::vector<std::unique_ptr<Node>> replicas_;
    std::size_t turn_;
};

}  // namespace rate_limit
