#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/topology/topology.h"
#include "redis/tree_reply.h"

namespace rate_limit {

/// The nodes that a map leaves out, each counted once.
struct LeftOut {
    std::size_t without_host = 0;  ///< whose host is not known
    std::size_t without_port = 0;  ///< that do not listen to what `asked` was asked by: TLS, or clear text
};

/// Reads the reply of the node `asked` to CLUSTER SLOTS: a group for each primary, by its endpoint, with
/// its slots in ascending order, successive ones in one range, and its replicas. The same servers always give
/// the same topology, in whatever order they are named. A node whose host name or port is not known is left
/// out, and counted in `left_out`; if it is a primary, nobody serves its slots. A node without a host has
/// that of `asked`. A cluster without any slots is a topology without groups. False for what is no such
/// reply, or has a slot twice: the topology is empty then.
bool read_cluster_slots(const TreeReply& reply, const Endpoint& asked, Topology& topology,
                        LeftOut* left_out = nullptr);

struct SentinelMaster {
    Endpoint address;
    std::uint64_t config_epoch = 0;
    bool failing_over =
        false;  ///< this sentinel replaces it: `address` may be the old one's, with the new epoch
    std::uint32_t sentinels = 1;  ///< how many watch over it, this one included
};

/// Reads a reply to SENTINEL MASTER. False unless it has an address, flags and a config-epoch: `master`
/// means nothing then.
bool read_sentinel_master(const TreeReply& reply, SentinelMaster& master);

/// The replicas of a primary, as a sentinel tells of them; each in ascending order, and in one list at most.
struct SentinelReplicas {
    std::vector<Endpoint> fit;  ///< may be read from

    /// Replicas without a link to their primary, or out of reach. That may be an old word: in TILT a sentinel
    /// looks, and does not change its mind; and without a primary no replica has a link.
    std::vector<Endpoint> unfit;
};

/// Reads a reply to SENTINEL REPLICAS, or SLAVES. One that reports to be a primary itself, or does not want
/// to be announced, is left out. False for what is no such reply: `replicas` is empty then.
bool read_sentinel_replicas(const TreeReply& reply, SentinelReplicas& replicas);

/// Reads a reply to SENTINEL SENTINELS: the other sentinels that watch over the same primary, in ascending
/// order, also those that are down. False for what is no such reply: `peers` is empty then.
bool read_sentinel_peers(const TreeReply& reply, std::vector<Endpoint>& peers);

struct Replication {
    bool primary = false;
    std::uint64_t replicas = 0;  ///< connected to a primary; 0 where it says none or no number
    bool guarded = false;        ///< a primary takes no writes with fewer replicas than min-replicas-to-write
    bool empty = false;   ///< a replica that is not connected to a primary, and was not since its start
    std::string_view id;  ///< of the data, which a primary has in common with those that follow it;
                          ///< good as long as the text; empty where it does not say
};

/// Reads the text of INFO replication. False unless it says the role of a primary or a replica: `replication`
/// means nothing then.
bool read_replication(std::string_view info, Replication& replication) noexcept;

}  // namespace rate_limit
