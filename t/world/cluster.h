#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/topology/topology.h"
#include "t/world/replica_set.h"

namespace rate_limit::world {

/// A Redis Cluster, as it is in truth. Each node believes what it was told last.
class Cluster {
public:
    /// The sets share all slots; the first `owners` of them, which are not 0, have them in the beginning. All
    /// nodes are told. The sets outlive this.
    Cluster(std::vector<ReplicaSet*> sets, std::size_t owners);

    const std::vector<ReplicaSet*>& sets() const noexcept { return sets_; }
    ReplicaSet& owner_of(std::uint16_t slot) noexcept { return *sets_[owners_[slot]]; }

    /// The node learns the map as it is now. One that is no primary any more follows the primary; a primary
    /// drops keys that are not its own.
    void tell(Redis& node);
    void tell_all();

    /// The node finds that too many others do not answer, until it is told something else.
    void cut_off(Redis& node);

    /// Whether some node, the server itself or another, takes it for a primary that has slots: it may tell
    /// clients so.
    bool is_told_of(const Redis& server) const;

    /// The replicas have agreed on a new primary, which knows that. The others are still to be told.
    void promote(ReplicaSet& set, Redis& next);

    /// The primary has asked a replica to take its place, and lets it catch up: nothing is lost. Both know.
    void hand_over(ReplicaSet& set, Redis& next);

    /// A range of slots begins to move between two sets, whose primaries know. Its keys move one after the
    /// other, by move_keys().
    struct SlotMove {
        SlotRange slots;
        ReplicaSet* from;
        ReplicaSet* to;
    };

    /// One move at a time. Slots that `from` does not own do not move.
    void begin_move(const SlotMove& move);
    const std::optional<SlotMove>& move() const noexcept { return move_; }

    /// Up to `most` keys go over; nothing where one of the primaries does not run. True: none is left.
    bool move_keys(std::size_t most);

    /// The new owner knows that it is that. The former one, and all others, are still to be told.
    void end_move();

private:
    bool moves(std::uint16_t slot) const noexcept;
    std::shared_ptr<const ClusterMap> map();

    std::vector<ReplicaSet*> sets_;
    std::array<std::uint8_t, slot_count> owners_{};  // indexes in sets_
    std::optional<SlotMove> move_;
};

}  // namespace rate_limit::world
