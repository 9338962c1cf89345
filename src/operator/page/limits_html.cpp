#include "operator/page/limits_html.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <string>

#include "core/text/figure_text.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// The most rows of the table.
constexpr std::size_t most_limits = 200;

std::string_view name_of(Outcome outcome) noexcept {
    switch (outcome) {
        case Outcome::passed:
            return "passed";
        case Outcome::rejected:
            return "rejected";
        case Outcome::rejected_dry_run:
            return "rejected in a dry run";
        case Outcome::error_local:
            return "error, decided by memory";
        case Outcome::error_allowed:
            return "error, allowed";
        case Outcome::error_denied:
            return "error, denied";
        case Outcome::bypassed:
            return "bypassed";
        case Outcome::none:
            break;
    }
    return "";
}

/// In the greatest unit that divides it.
std::string span_text(std::int64_t seconds) {
    struct Unit {
        std::int64_t seconds;
        std::string_view name;
    };
    constexpr Unit units[] = {{86'400, "d"}, {3600, "h"}, {60, "min"}};
    for (const Unit& unit : units) {
        if (seconds % unit.seconds == 0) {
            const std::int64_t count = seconds / unit.seconds;
            return (count == 1 ? std::string() : std::to_string(count) + " ").append(unit.name);
        }
    }
    return seconds == 1 ? "s" : std::to_string(seconds) + " s";
}

std::string rates_text(const Rates& rates, bool slots) {
    std::string text;
    for (const Rate& rate : rates) {
        text += (text.empty() ? "" : ", ") + grouped(static_cast<std::uint64_t>(rate.limit));
        text += slots ? " at a time" : " per " + (rate.month ? "month" : span_text(rate.period));
    }
    return text.empty() ? "a variable says" : text;
}

std::string_view enforced_text(const Tally& tally) noexcept {
    if (tally.limit->enforced == Enforced::by_a_variable) {
        return "a variable says";
    }
    return is_dry(tally) ? "no: a dry run" : "yes";
}

std::string_view kind_text(const Limit& limit) noexcept {
    if (limit.by_bucket) {
        return ", a token bucket";
    }
    return limit.window_kind == WindowKind::clock ? ", by the clock" : "";
}

/// Writes the cells that the configuration decides.
void write_kind(HtmlText& html, const Gathered::OfLimit& limit) {
    const Tally& tally = *limit.tally;
    if (tally.limit == nullptr) {
        html.element("td", "all limits together for whose counters the zone has no room", {{"colspan", "3"}});
        return;
    }
    html.element("td", std::string(tally.limit->mode->name).append(kind_text(*tally.limit)));
    html.element("td", rates_text(limit.rates, tally.is_slots()));
    html.element("td", enforced_text(tally));
}

void write_limit(HtmlText& html, const Gathered::OfLimit& limit) {
    const Tally& tally = *limit.tally;
    const auto count = [&](Decided decided) { number_cell(html, tally.counters.own_count(decided)); };
    html.open("tr");
    row_header(html, tally.name);
    text_cell(html, tally.store_name);
    write_kind(html, limit);
    for (const Outcome outcome : decided_outcomes) {
        count(decided_of(outcome));
    }
    count(Decided::unasked);
    count(Decided::cost);
    html.close();
}

void begin_limits(HtmlText& html) {
    begin_part(html, "limits", "Limits");
    begin_table(html, "limits-table", "What each limit decided",
                {{"Limit"},
                 {"Store"},
                 {"Mode"},
                 {"Rate"},
                 {"Enforced"},
                 {"Passed", true},
                 {"Rejected", true},
                 {"In a dry run", true},
                 {"Error: by memory", true},
                 {"Error: allowed", true},
                 {"Error: denied", true},
                 {"Store not asked", true},
                 {"Charged", true}});
}

bool counts_running(const Gathered::OfLimit& limit) noexcept {
    return limit.tally->is_slots() && limit.now.running;
}

void write_running(HtmlText& html, const Gathered::OfLimit& limit) {
    html.open("tr");
    row_header(html, limit.tally->name);
    text_cell(html, limit.tally->store_name);
    html.element("td", rates_text(limit.rates, true));
    number_cell(html, *limit.now.running);
    if (limit.now.slots) {
        number_cell(html, *limit.now.slots);
    } else {
        html.element("td", "–", {{"class", "n none"}});
    }
    html.close();
}

}  // namespace

void write_requests(HtmlText& html, const Gathered& found) {
    const Counters<Outcome>& requests = found.main.tallies->requests();
    std::array<std::uint64_t, request_outcomes.size()> counts{};  // other workers count on meanwhile
    std::transform(request_outcomes.begin(), request_outcomes.end(), counts.begin(),
                   [&requests](Outcome outcome) { return requests.count(outcome); });
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    begin_part(html, "requests", "Requests");
    html.open("dl", {{"class", "tiles"}});
    for (std::size_t i = 0; i < counts.size(); ++i) {
        const std::uint64_t count = counts[i];
        html.open("div", {{"class", count == 0 ? "none" : "some"}});
        html.element("dt", name_of(request_outcomes[i])).open("dd").element("b", grouped(count)).words(" ");
        html.element("span", share(count, all)).close().close();
    }
    html.close().close();
}

void add_limits(Pieces& pieces, const Gathered& found) {
    pieces.emplace_back(begin_limits);
    const std::size_t rows = std::min(found.limits.size(), most_limits);
    for (std::size_t i = 0; i < rows; ++i) {
        pieces.emplace_back([&found, i](HtmlText& html) { write_limit(html, found.limits[i]); });
    }
    pieces.emplace_back([&found, rows](HtmlText& html) {
        end_table(html);
        if (rows < found.limits.size()) {
            html.element(
                "p", "These are the first of " + counted(found.limits.size(), "limit") + "; JSON has all.",
                {{"class", "more"}});
        }
        html.close();
    });
}

void write_all_running(HtmlText& html, const Gathered& found) {
    const auto some = std::find_if(found.limits.begin(), found.limits.end(), counts_running);
    if (some == found.limits.end()) {
        return;
    }
    begin_part(html, "running", "Running requests");
    begin_table(html, "running-table", "What runs on this machine now, of all keys together",
                {{"Limit"}, {"Store"}, {"Of each key"}, {"Running", true}, {"Slots held", true}});
    std::size_t rows = 0;
    for (auto limit = some; limit != found.limits.end() && rows < most_limits; ++limit) {
        if (counts_running(*limit)) {
            write_running(html, *limit);
            ++rows;
        }
    }
    end_table(html);
    html.close();
}

}  // namespace rate_limit
