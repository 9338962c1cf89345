#pragma once

#include <cstdint>
#include <memory>

#include "core/topology/refresh_gate.h"
#include "core/topology/shared_topology.h"
#include "core/topology/topology.h"
#include "limiter/loop.h"
#include "limiter/topology/topology_source.h"

namespace rate_limit {

struct StoreConf;

/// How one worker learns which servers a store has: from what some worker of this machine has published, and
/// by asking itself while it has the turn. One worker asks for all, so that a machine has one connection to
/// each sentinel, or asks one node of a cluster, however many workers it has.
class Discovery final : private TopologySource::Owner {
public:
    class Owner {
    public:
        virtual void on_topology(const Topology& topology) noexcept = 0;

    protected:
        ~Owner() = default;
    };

    /// `store` and `owner` outlive this.
    Discovery(const StoreConf& store, Owner& owner);
    Discovery(const Discovery&) = delete;
    Discovery& operator=(const Discovery&) = delete;

    /// Takes up what has been published since the last call.
    void follow() noexcept {
        if (shared_.generation() != seen_) {
            take_up();
        }
    }

    /// The last argument of Owner::on_topology(); no groups before that.
    const Topology& known() const noexcept { return known_; }

    /// A server said or did what does not fit the topology: the worker that asks should ask soon.
    void hint() noexcept { shared_.hint(); }

    void shut_down() noexcept;

private:
    bool on_found(const Topology& topology) noexcept override;
    void on_nothing() noexcept override { shared_.hint(); }

    void tick() noexcept;
    void mend() noexcept;
    void stop_asking() noexcept;
    void take_up() noexcept;

    const StoreConf& store_;
    Owner& owner_;
    SharedTopology& shared_;
    const std::unique_ptr<TopologySource> source_;
    Topology known_;
    std::uint64_t seen_ = 0;   // the generation that known_ is of
    std::uint32_t hints_ = 0;  // that were seen
    bool asks_ = false;        // this worker has the turn
    bool changed_ = false;     // something was found since the last round began
    bool too_large_ = false;   // so was what was found last
    RefreshGate gate_;
    Timer timer_{this, [](void* self) noexcept { static_cast<Discovery*>(self)->tick(); },
                 Timer::Worker::leaves};
    Timer stop_asking_{this, [](void* self) noexcept { static_cast<Discovery*>(self)->stop_asking(); },
                       Timer::Worker::leaves};  // runs only when the answer has been read
};

}  // namespace rate_limit
