#include "limiter/store/region_watch.h"

#include "limiter/zone.h"

namespace rate_limit {

RegionWatch::RegionWatch(const StoreConf& region, const ShardConf& shard)
    : subject_("region \"" + region.region + "\" of \"" + region.home->name + "\", shard \"" + shard.name +
               "\","),
      counters_(region.zone->counters(), {region.name, shard.name, {}}),
      outage_(subject_, "answers again") {}

void RegionWatch::remembered(const char* reason) noexcept {
    counters_.add(RegionCount::remembered);
    outage_.failed("does not answer, and counts as it was last read", reason);
}

}  // namespace rate_limit
