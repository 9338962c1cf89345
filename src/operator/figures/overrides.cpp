#include "operator/figures/overrides.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/overrides/known_overrides.h"
#include "limiter/zone.h"
#include "operator/figures/words.h"

namespace rate_limit {

namespace {

void keys_cell(HtmlText& html, const ShownOverride& shown) {
    html.open("td");
    if (shown.what.subject.key == 0) {
        html.words("all");
    } else if (!shown.what.text.empty()) {
        html.open("code").text(shown.what.text).close();
    } else {
        html.words("id ").element("code", id_text(shown.what.subject.key));
    }
    html.close();
}

void kind_cell(HtmlText& html, const Override& what) {
    html.open("td").words(to_string(what.kind));
    if (what.kind == OverrideKind::enforce) {
        html.words(" for " + std::to_string(what.percent) + "% of the keys");
    }
    html.close();
}

}  // namespace

constexpr Column<ShownOverride> override_subject_list[] = {
    {"limit", {}, {}, field<&ShownOverride::limit, &Tally::name>},
    {"store", {"Store"}, {}, field<&ShownOverride::limit, &Tally::store_name>},
    {"id",
     {"Keys"},
     {},
     [](const ShownOverride& shown) {
         const std::uint64_t id = shown.what.subject.key;
         return id != 0 ? Figure(id_text(id)) : Figure();
     },
     nullptr,
     keys_cell},
    {"key",
     {},
     {},
     [](const ShownOverride& shown) {
         const std::string_view key = shown.what.text;
         return key.empty() ? Figure() : Figure(key);
     }},
};
constexpr Columns<ShownOverride> override_subject_columns = override_subject_list;

constexpr Column<Override> override_list[] = {
    {"kind",
     {"Kind"},
     {},
     [](const Override& what) -> Figure { return to_string(what.kind); },
     nullptr,
     kind_cell},
    {"percent",
     {},
     {},
     [](const Override& what) {
         return what.kind == OverrideKind::enforce ? Figure(std::uint64_t{what.percent}) : Figure();
     }},
    {"from", {"Since"}, {}, [](const Override& what) -> Figure { return Moment{what.from}; }},
    {"until",
     {"Ends"},
     {},
     [](const Override& what) -> Figure {
         return Moment{what.until, Moment::Shown::ahead};
     }},
    {"by", {"By"}, {}, field<&Override::by>},
    {"scope", {}, {}, [](const Override& what) -> Figure { return to_string(what.scope); }},
};
constexpr Columns<Override> override_columns = override_list;

std::vector<ShownOverride> overrides_of(const Configuration& main, bool plain) {
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
        if (limit == limits.end()) {
            continue;
        }
        if (!plain || what.cut) {
            what.text.clear();
        }
        shown.push_back({limit->second, std::move(what)});
    }
    std::sort(shown.begin(), shown.end(), [](const ShownOverride& a, const ShownOverride& b) {
        return a.limit != b.limit ? a.limit < b.limit : a.what.from > b.what.from;
    });
    return shown;
}

void write_override_metrics(MetricsText& text, const std::vector<ShownOverride>& all) {
    text.family("overrides", MetricsText::Type::gauge, "Overrides in effect.");
    for (const OverrideKind kind : override_kinds) {
        text.sample({{"kind", to_string(kind)}},
                    static_cast<std::uint64_t>(std::count_if(
                        all.begin(), all.end(),
                        [kind](const ShownOverride& shown) { return shown.what.kind == kind; })));
    }
}

}  // namespace rate_limit
