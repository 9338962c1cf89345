#include "t/world/master_watch.h"

#include <algorithm>
#include <utility>

namespace rate_limit::world {

MasterWatch::MasterWatch(std::string name, ReplicaSet& set, std::vector<Sentinel*> sentinels)
    : name_(std::move(name)), set_(set), sentinels_(std::move(sentinels)) {
    for (Sentinel* sentinel : sentinels_) {
        sentinel->peers.clear();
        for (const Sentinel* other : sentinels_) {
            if (other != sentinel) {
                sentinel->peers.push_back(other->address());
            }
        }
    }
    tell_all();
}

void MasterWatch::tell(Sentinel& sentinel) {
    Watched watched{set_.primary().address(), epoch_, set_.primary().runs()};
    for (Redis* member : set_.members()) {
        if (member != &set_.primary()) {
            const ServerState& state = member->server().state;
            watched.replicas.push_back(
                {member->address(), member->runs(), state.link_up, state.role == ServerRole::replica});
        }
    }
    sentinel.watch(name_) = watched;
}

void MasterWatch::tell_all() {
    for (Sentinel* sentinel : sentinels_) {
        tell(*sentinel);
    }
}

bool MasterWatch::is_told_of(const std::string& address) const {
    return std::any_of(sentinels_.begin(), sentinels_.end(),
                       [&](Sentinel* sentinel) { return sentinel->watch(name_).primary == address; });
}

void MasterWatch::promote(Redis& next) {
    ++epoch_;
    set_.promote(next);
}

}  // namespace rate_limit::world
