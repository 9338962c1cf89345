#include "operator/figures/overrides.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/overrides/known_overrides.h"
#include "limiter/zone.h"
#include "operator/figures/id_text.h"

namespace rate_limit {

void write_override(JsonText& json, const ShownOverride& shown, bool plain) {
    const Override& what = shown.what;
    json.begin_object();
    json.name("limit").text(shown.limit->name);
    json.name("store").text(shown.limit->store_name);
    json.name("id");
    if (what.subject.key != 0) {
        json.text(IdText(what.subject.key).view());
    } else {
        json.null();
    }
    json.name("key");
    if (plain && !what.text.empty() && !what.cut) {
        json.text(what.text);
    } else {
        json.null();
    }
    json.name("kind").text(to_string(what.kind));
    json.name("percent");
    if (what.kind == OverrideKind::enforce) {
        json.number(what.percent);
    } else {
        json.null();
    }
    json.name("from").time(what.from);
    json.name("until").time(what.until);
    json.name("by").text(what.by);
    json.name("scope").text(to_string(what.scope));
    json.end_object();
}

std::vector<ShownOverride> overrides_of(const Configuration& main) {
    std::vector<ShownOverride> shown;
    if (main.overrides->none()) {
        return shown;
    }
    std::unordered_map<std::uint64_t, const Tally*> limits;
    for (const Tally& tally : main.tallies->all()) {
        limits.emplace(tally.digest, &tally);
    }
    for (Override& what : main.zone->overrides().read(now_millis())) {
        const auto limit = limits.find(what.subject.limit);
        if (limit != limits.end()) {
            shown.push_back({limit->second, std::move(what)});
        }
    }
    std::sort(shown.begin(), shown.end(), [](const ShownOverride& a, const ShownOverride& b) {
        return a.limit != b.limit ? a.limit < b.limit : a.what.from > b.what.from;
    });
    return shown;
}

void write_override_metrics(MetricsText& text, const Configuration& main) {
    const std::vector<ShownOverride> all = overrides_of(main);
    text.family("overrides", MetricsText::Type::gauge, "Overrides in effect.");
    for (const OverrideKind kind : override_kinds) {
        text.sample({{"kind", to_string(kind)}},
                    static_cast<std::uint64_t>(std::count_if(
                        all.begin(), all.end(),
                        [kind](const ShownOverride& shown) { return shown.what.kind == kind; })));
    }
}

}  // namespace rate_limit
