#pragma once

#include <vector>

#include "t/world/redis.h"

namespace rate_limit::world {

/// A primary and its replicas, as they are in truth: what sentinels, clients or the servers themselves
/// believe may differ for a while.
class ReplicaSet {
public:
    /// The first of `members`, which is not empty, is the primary. All outlive this. `lost` is told which
    /// writes are lost.
    ReplicaSet(std::vector<Redis*> members, LostWrites& lost);

    Redis& primary() noexcept { return *primary_; }
    const std::vector<Redis*>& members() const noexcept { return members_; }
    bool has(const Redis& server) const noexcept;

    /// Whether it gets what the primary writes.
    bool follows(const Redis& server) noexcept { return primary_->replication_to(server) != nullptr; }

    /// A replica that runs and follows; null: there is none.
    Redis* find_successor() noexcept;

    /// The way to it from whoever it follows. Null: it follows nobody.
    Replication* replication_to(const Redis& server) noexcept;

    /// A replica that follows becomes the primary. What has not arrived there is lost, and so is all that the
    /// former primary writes from now on. It thinks that it is the primary, and other replicas go on
    /// following it, until follow() is called for each.
    void promote(Redis& next);

    /// It is the primary's replica from now on, and what it has is replaced. `told`: its connections end, as
    /// sentinels end them.
    void follow(Redis& server, bool told, Micros lag = 200);

    /// The primary has no data any more, and so have its replicas.
    void lose_data() { primary_->lose_data(&lost_); }

private:
    void attach(Redis& server, Micros lag);

    std::vector<Redis*> members_;
    Redis* primary_;
    LostWrites& lost_;
};

}  // namespace rate_limit::world
