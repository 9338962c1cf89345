#include "operator/figures/top.h"

#include <algorithm>
#include <utility>

#include "limiter/zone.h"
#include "operator/figures/limits.h"
#include "operator/figures/words.h"

namespace rate_limit {

namespace {

void id_cell(HtmlText& html, const Top::Key& key) {
    html.open("td").element("code", id_text(key.what.id)).close();
}

void key_cell(HtmlText& html, const Top::Key& key) {
    html.open("td", {{"class", "key"}});
    if (key.what.key.empty()) {
        html.words("–");
    } else {
        html.open("code").text(key.what.key).close().words(key.what.cut ? " … (cut)" : "");
    }
    html.close();
}

Figure id(const Top::Key& key) {
    return id_text(key.what.id);
}

Figure key_text(const Top::Key& key) {
    return key.what.key.empty() ? Figure() : Figure(std::string_view(key.what.key));
}

Figure is_cut(const Top::Key& key) {
    return key.what.cut && !key.what.key.empty();
}

constexpr Column<Top::Key> top_list[] = {
    {"limit", {}, {}, field<&Top::Key::limit, &Tally::name>},
    {"store", {"Store"}, {}, field<&Top::Key::limit, &Tally::store_name>},
    {"id", {"Id"}, {}, id, nullptr, id_cell},
    {"key", {key_heading}, {}, key_text, nullptr, key_cell},
    {"cut", {}, {}, is_cut},
    {"rejected", {"Rejected", true}, {}, field<&Top::Key::what, &Offenders::Offender::rejected>},
    {"over", {"At most too many", true}, {}, field<&Top::Key::what, &Offenders::Offender::over>},
    {"dry_run", {"In a dry run", true}, {}, field<&Top::Key::what, &Offenders::Offender::dry_run>},
    {"last", {"Last"}, {}, moment<Moment::Shown::ago, &Top::Key::what, &Offenders::Offender::last>},
};

}  // namespace

constexpr Columns<Top::Key> top_columns = top_list;

Top top_of(const Configuration& main, bool plain) {
    Offenders::Report report = main.zone->offenders().read(now_millis());
    const auto limits = tallies_by_digest(main);
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
        const bool has_key = !offender.key.empty() && !offender.cut;
        if (!plain) {
            offender.key.clear();
        }
        top.keys.push_back({limit->second, std::move(offender), has_key});
    }
    return top;
}

}  // namespace rate_limit
