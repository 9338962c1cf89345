#pragma once

#include <cstddef>

#include "redis/keys/routes.h"
#include "redis/reply.h"

namespace rate_limit {

class Command;
class Node;

/// The store, as its shards and their nodes ask it: it knows the other ones, and where all may have gone.
class Guide {
public:
    /// To take up what other workers have found out about the nodes. Not while a node is calling.
    virtual void follow() noexcept = 0;

    /// A node says, or does, what does not fit the topology: it may have changed.
    virtual void doubt() noexcept = 0;

    /// A node of a cluster has answered the command by an error. True: another node serves its slot, for now
    /// or from now on, and the command is the guide's, to be sent there.
    virtual bool redirect(Node& node, Command& command, const Reply& reply) noexcept = 0;

    /// The number of the shard that serves the route now.
    virtual std::size_t number_of(Route route) const noexcept = 0;

    /// In which parts of a cluster the shard of this number may serve slots: bit n for the part that begins
    /// with Routes::first_of(n).
    virtual Routes::Parts parts_of(std::size_t number) const noexcept = 0;

protected:
    ~Guide() = default;
};

}  // namespace rate_limit
