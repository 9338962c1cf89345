#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "t/world/replica_set.h"
#include "t/world/sentinel.h"

namespace rate_limit::world {

/// A replica set that sentinels watch under a name. Each sentinel believes what it was told last.
class MasterWatch {
public:
    /// `sentinels` are told, and know one another. All outlive this.
    MasterWatch(std::string name, ReplicaSet& set, std::vector<Sentinel*> sentinels);

    const std::string& name() const noexcept { return name_; }
    ReplicaSet& set() noexcept { return set_; }
    const std::vector<Sentinel*>& sentinels() const noexcept { return sentinels_; }

    /// Whether some sentinel still tells of the primary of this address.
    bool is_told_of(const std::string& address) const;

    /// The sentinel learns how the set is now.
    void tell(Sentinel& sentinel);
    void tell_all();

    /// The sentinel leads a failover: until it is told of its end it has the next epoch, and still the former
    /// primary. The others learn of the new one and of the epoch at the same time.
    void begin_failover(Sentinel& leader) { leader.watch(name_).failing_over = true; }

    /// The sentinels have agreed on a new primary. They are still to be told.
    void promote(Redis& next);

private:
    const std::string name_;
    ReplicaSet& set_;
    const std::vector<Sentinel*> sentinels_;
    std::uint64_t epoch_ = 1;
};

}  // namespace rate_limit::world
