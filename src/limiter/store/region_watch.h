#pragma once

#include <string>

#include "limiter/counters.h"
#include "limiter/store_conf.h"
#include "limiter/wire/health/server_log.h"

namespace rate_limit {

/// Events of one shard of another region.
enum class RegionCount : unsigned char {
    remembered,  ///< a request took what was last read of it, as it did not answer
};

template <>
struct CountersOf<RegionCount> {
    static constexpr std::string_view name = "region";
    static constexpr std::size_t count = static_cast<std::size_t>(RegionCount::remembered) + 1;
};

/// How one shard of another region answers one worker, as it is counted and logged.
class RegionWatch {
public:
    /// Both outlive this. `region` has a home.
    RegionWatch(const StoreConf& region, const ShardConf& shard);

    void answered() noexcept { outage_.ended(); }

    /// It has not answered a request, for this reason, a static text.
    void remembered(const char* reason) noexcept;

private:
    const std::string subject_;
    Counters<RegionCount> counters_;
    OutageLog outage_;
};

}  // namespace rate_limit
