#include "t/world/replica_set.h"

#include <algorithm>
#include <utility>

namespace rate_limit::world {

ReplicaSet::ReplicaSet(std::vector<Redis*> members, LostWrites& lost)
    : members_(std::move(members)), primary_(members_.front()), lost_(lost) {
    for (Redis* member : members_) {
        if (member != primary_) {
            primary_->replicate_to(*member);
        }
    }
}

bool ReplicaSet::has(const Redis& server) const noexcept {
    return std::find(members_.begin(), members_.end(), &server) != members_.end();
}

Redis* ReplicaSet::find_successor() noexcept {
    const auto found = std::find_if(members_.begin(), members_.end(), [this](const Redis* member) {
        return member != primary_ && follows(*member) && member->runs();
    });
    return found != members_.end() ? *found : nullptr;
}

Replication* ReplicaSet::replication_to(const Redis& server) noexcept {
    for (Redis* member : members_) {
        if (Replication* replication = member->replication_to(server)) {
            return replication;
        }
    }
    return nullptr;
}

void ReplicaSet::promote(Redis& next) {
    Redis& former = *std::exchange(primary_, &next);
    former.stop_replicating_to(next, &lost_);
    former.count_as_lost(&lost_);
    next.server().state.role = ServerRole::primary;
    next.server().state.link_up = true;
}

/// Those that follow it follow the primary first: nobody follows a replica here.
void ReplicaSet::follow(Redis& server, bool told, Micros lag) {
    for (Redis* member : members_) {
        if (server.replication_to(*member) != nullptr) {
            attach(*member, lag);
        }
    }
    attach(server, lag);
    if (told) {
        server.reset_connections();
    }
}

void ReplicaSet::attach(Redis& server, Micros lag) {
    for (Redis* member : members_) {
        member->stop_replicating_to(server);
    }
    primary_->replicate_to(server, lag);
}

}  // namespace rate_limit::world
