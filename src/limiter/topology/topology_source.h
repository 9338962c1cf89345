#pragma once

#include <string>

#include "core/topology/topology.h"
#include "limiter/store_conf.h"

namespace rate_limit {

/// The servers that are asked which servers a store has: sentinels, or the nodes of a cluster. One worker of
/// a machine asks at a time.
class TopologySource {
public:
    class Owner {
    public:
        /// Other servers, or other parts of them, than were known. True: they are published; false: it is
        /// not this worker's to say, or there is no room for them.
        virtual bool on_found(const Topology& topology) noexcept = 0;

        /// The question has brought nothing: it should be asked again soon.
        virtual void on_nothing() noexcept = 0;

    protected:
        ~Owner() = default;
    };

    virtual ~TopologySource() = default;
    TopologySource(const TopologySource&) = delete;
    TopologySource& operator=(const TopologySource&) = delete;

    /// Asks once more. `known`: what is published, perhaps by another worker. `doubted`: servers do not do as
    /// it says, so the server that told it last may be wrong.
    virtual void ask(const Topology& known, bool doubted) noexcept = 0;

    /// Closes the connections: another worker asks from now on.
    virtual void hang_up() noexcept = 0;

    /// Closes the connections at the worker's end.
    virtual void shut_down() noexcept = 0;

protected:
    /// How the outage of what is asked ends for a worker that does not ask any more.
    static constexpr const char* asked_by_another = "is asked by another worker";

    TopologySource() = default;
};

/// The node that a topology of the store names. If its host is a name, it has no address yet; but where there
/// is no resolver to ask, it has those that the name had in "cluster" or "sentinel", if it stands there.
NodeConf discovered_node(const StoreConf& store, const Endpoint& endpoint);

/// Names what is asked for a store's servers, and which ones: STORE, its sentinels and masters, or the nodes
/// of a cluster, in whatever order they are configured. Throws std::bad_alloc.
std::string asked_servers(const StoreConf& store);

}  // namespace rate_limit
