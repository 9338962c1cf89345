#include "operator/figures/top.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "limiter/zone.h"
#include "operator/figures/id_text.h"

namespace rate_limit {

Top top_of(const Configuration& main) {
    Offenders::Report report = main.zone->offenders().read(now_millis());
    std::unordered_map<std::uint64_t, const Tally*> limits;
    for (const Tally& tally : main.tallies->all()) {
        limits.emplace(tally.digest, &tally);
    }
    Top top;
    top.since = report.since;
    top.total = report.total;
    top.others = report.total;
    for (Offenders::Offender& offender : report.keys) {
        const auto limit = limits.find(offender.limit);
        if (limit == limits.end()) {
            continue;  // the limit is not configured any more
        }
        top.others -= std::min(top.others, offender.certain());
        top.keys.push_back({limit->second, std::move(offender)});
    }
    return top;
}

void write_top_sums(JsonText& json, const Top& top) {
    json.name("since").time(top.since);
    json.name("total").count(top.total);
    json.name("others").count(top.others);
}

void write_top_key(JsonText& json, const Top::Key& key, bool plain) {
    const bool shown = plain && !key.what.key.empty();
    json.begin_object();
    json.name("limit").text(key.limit->name);
    json.name("store").text(key.limit->store_name);
    json.name("id").text(IdText(key.what.id).view());
    json.name("key");
    if (shown) {
        json.text(key.what.key);
    } else {
        json.null();
    }
    json.name("cut").boolean(shown && key.what.cut);
    json.name("rejected").count(key.what.rejected);
    json.name("over").count(key.what.over);
    json.name("dry_run").count(key.what.dry_run);
    json.name("last").time(key.what.last);
    json.end_object();
}

}  // namespace rate_limit
