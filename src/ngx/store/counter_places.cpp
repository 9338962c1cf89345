#include "ngx/store/counter_places.h"

#include "ngx/base/zone.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/store/losses.h"
#include "ngx/wire/node_errors.h"

namespace rate_limit {

namespace {

/// First the counters that stand in for subjects without room.
template <typename Fn>
void for_each_name(const MainConf& main, Fn&& fn) noexcept {
    Counters<Loss>::for_each_name(Counters<Loss>::others(), fn);
    Counters<NodeError>::for_each_name(Counters<NodeError>::others(), fn);
    for (const StoreConf* store : Elements<StoreConf*>(main.stores)) {
        for (const ShardConf& shard : store->shards) {
            Subject subject{store->name, shard.name, {}};
            Counters<Loss>::for_each_name(subject, fn);
            subject.node = shard.primary.text;
            Counters<NodeError>::for_each_name(subject, fn);
            for (const NodeConf& replica : shard.replicas) {
                subject.node = replica.text;
                Counters<NodeError>::for_each_name(subject, fn);
            }
        }
    }
}

}  // namespace

void place_counters(const MainConf& main) noexcept {
    if (main.zone == nullptr) {
        return;
    }
    CounterTable& counters = main.zone->counters();
    counters.begin_names();
    for_each_name(main, [&](CounterTable::Name name) { counters.keep(name); });
    for_each_name(main, [&](CounterTable::Name name) { counters.add_name(name); });
}

}  // namespace rate_limit
