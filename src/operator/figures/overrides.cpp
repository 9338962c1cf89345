#include "operator/figures/overrides.h"

#include <algorithm>
#include <string>

#include "core/overrides/known_overrides.h"
#include "limiter/zone.h"
#include "operator/figures/limits.h"
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

Figure id(const ShownOverride& shown) {
    const std::uint64_t key = shown.what.subject.key;
    return key != 0 ? Figure(id_text(key)) : Figure();
}

Figure key_text(const ShownOverride& shown) {
    const std::string_view key = shown.what.text;
    return key.empty() ? Figure() : Figure(key);
}

Figure kind(const Override& what) {
    return to_string(what.kind);
}

Figure kind_words(const Override& what) {
    std::string words(to_string(what.kind));
    if (what.kind == OverrideKind::enforce) {
        words.append(" for ").append(std::to_string(what.percent)).append("% of the keys");
    }
    return words;
}

Figure percent(const Override& what) {
    return what.kind == OverrideKind::enforce ? Figure(std::uint64_t{what.percent}) : Figure();
}

Figure reason(const Override& what) {
    const std::string_view reason = what.reason;
    return reason.empty() ? Figure() : Figure(reason);
}

Figure scope_words(const Override& what) {
    return std::string_view(what.scope == OverrideScope::shared ? "all machines" : "this machine");
}

Figure scope(const Override& what) {
    return to_string(what.scope);
}

constexpr Column<ShownOverride> override_subject_list[] = {
    {"limit", {}, {}, field<&ShownOverride::limit, &Tally::name>},
    {"store", {"Store"}, {}, field<&ShownOverride::limit, &Tally::store_name>},
    {"id", {"Keys"}, {}, id, nullptr, keys_cell},
    {"key", {}, {}, key_text},
};

constexpr Column<Override> override_list[] = {
    {"kind", {}, {}, kind},
    {{}, {"Kind"}, {}, kind_words},
    {"percent", {}, {}, percent},
    {"from", {"Since"}, {}, moment<Moment::Shown::ago, &Override::from>},
    {"until", {"Ends"}, {}, moment<Moment::Shown::ahead, &Override::until>},
    {"by", {"By"}, {}, field<&Override::by>},
    {"reason", {"Reason"}, {}, reason},
    {"scope", {}, {}, scope},
    {{}, {"Where"}, {}, scope_words},
};

}  // namespace

constexpr Columns<ShownOverride> override_subject_columns = override_subject_list;
constexpr Columns<Override> override_columns = override_list;

std::vector<ShownOverride> overrides_of(const Configuration& main, bool plain) {
    std::vector<ShownOverride> shown;
    if (main.overrides->none()) {
        return shown;
    }
    const auto limits = tallies_by_digest(main);
    for (Override& what : main.zone->overrides().read(now_millis())) {
        const auto limit = limits.find(what.subject.limit);
        if (limit == limits.end()) {
            continue;
        }
        if (!plain || what.text.is_cut()) {
            what.text = "";
        }
        shown.push_back({limit->second, what});
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
