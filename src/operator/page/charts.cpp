#include "operator/page/charts.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "core/text/figure_text.h"
#include "core/text/readable.h"
#include "operator/figures/minutes.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// The most limits that are drawn.
constexpr std::size_t most_charts = 24;

// In units of the drawing, whose width is 60 of the first.
constexpr int minute_width = 6;
constexpr int bar_width = 5;
constexpr int height = 72;

/// The least height of a count above 0: what is rare must be seen, too.
constexpr double least_height = 2;

/// From the bottom to the top of a bar. Told apart by their patterns and in words, not by their colours
/// alone.
struct Series {
    std::size_t counter;
    std::string_view name;
    std::string_view fill;
};
constexpr Series series[] = {
    {Minute::passed, "passed", "url(#of-passed)"},
    {Minute::rejected_dry_run, "rejected in a dry run", "url(#of-dry)"},
    {Minute::errors, "errors", "url(#of-errors)"},
    {Minute::rejected, "rejected", "url(#of-rejected)"},
};

/// Solid, dots, crosses, and stripes.
constexpr std::string_view patterns =
    R"(<svg class="patterns" width="0" height="0" aria-hidden="true" focusable="false"><defs>)"
    R"(<pattern id="of-passed" width="6" height="6" patternUnits="userSpaceOnUse">)"
    R"(<rect class="passed" width="6" height="6"/></pattern>)"
    R"(<pattern id="of-dry" width="4" height="4" patternUnits="userSpaceOnUse">)"
    R"(<rect class="paper" width="4" height="4"/><circle class="dry" cx="2" cy="2" r="1.3"/></pattern>)"
    R"(<pattern id="of-errors" width="5" height="5" patternUnits="userSpaceOnUse">)"
    R"(<rect class="paper" width="5" height="5"/><path class="errors" d="M0 0L5 5M5 0L0 5"/></pattern>)"
    R"(<pattern id="of-rejected" width="4" height="4" patternUnits="userSpaceOnUse")"
    R"svg( patternTransform="rotate(45)">)svg"
    R"(<rect class="paper" width="4" height="4"/><rect class="rejected" width="2.6" height="4"/></pattern>)"
    R"(</defs></svg>)";

std::uint64_t total(const LastHour::Counts& counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void write_legend(HtmlText& html) {
    html.open("ul", {{"class", "legend"}});
    for (const Series& each : series) {
        html.open("li");
        html.open("svg", {{"width", "14"}, {"height", "14"}, {"aria-hidden", "true"}});
        html.open("rect", {{"width", "14"}, {"height", "14"}, {"class", "edge"}, {"fill", each.fill}});
        html.close().close().words(" ").words(each.name).close();
    }
    html.close();
}

/// The bars of each series as one path, stacked upon those before.
void write_bars(HtmlText& html, const LastHour::Hour& hour, std::uint64_t most) {
    std::array<double, LastHour::minutes> tops{};
    tops.fill(height);
    for (const Series& each : series) {
        std::string path;
        for (std::size_t minute = 0; minute < hour.size(); ++minute) {
            const std::uint64_t count = hour[minute][each.counter];
            if (count == 0) {
                continue;
            }
            const double tall =
                std::max(least_height, static_cast<double>(count) * height / static_cast<double>(most));
            tops[minute] = std::max(0.0, tops[minute] - tall);
            char bar[64];
            (void)std::snprintf(bar, sizeof(bar), "M%zu %.1fh%dv%.1fh-%dz", minute * minute_width,
                                tops[minute], bar_width, tall, bar_width);
            path += bar;
        }
        if (!path.empty()) {
            html.open("path", {{"fill", each.fill}, {"d", path}}).close();
        }
    }
}

std::string in_words(const LastHour::Counts& hour, std::uint64_t most) {
    std::string words;
    for (const Series& each : series) {
        if (hour[each.counter] == 0 && each.counter != Minute::passed) {
            continue;
        }
        words.append(words.empty() ? "" : ", ")
            .append(grouped(hour[each.counter]))
            .append(" ")
            .append(each.name);
    }
    return words + "; at most " + grouped(most) + " in a minute";
}

void write_chart(HtmlText& html, const AllFigures& found, const ToldLimit& limit) {
    LastHour::Hour hour;
    if (!read_hour(found.main, *limit.tally, hour)) {
        return;
    }
    std::uint64_t most = 1;
    for (const LastHour::Counts& minute : hour) {
        most = std::max(most, total(minute));
    }
    const std::string words = in_words(limit.hour, most);
    html.open("figure").open("figcaption");
    html.open("h3").text(limit.tally->name).words(" ");
    html.open("span").text(limit.tally->store_name).close().close();
    html.element("p", words).close();
    html.open("svg", {{"role", "img"},
                      {"aria-label", "The last hour of " + readable(limit.tally->name) + ": " + words},
                      {"viewBox", "0 -1 360 74"},
                      {"width", "360"},
                      {"height", "74"}});
    html.markup(R"(<path class="grid" d="M0 0H360M0 36H360M0 72H360"/>)");
    write_bars(html, hour, most);
    html.close();
    html.open("p", {{"class", "axis"}, {"aria-hidden", "true"}});
    html.element("span", "an hour ago")
        .element("span", "top: " + grouped(most) + " a minute")
        .element("span", "now");
    html.close().close();
}

}  // namespace

void write_charts(HtmlText& html, const AllFigures& found) {
    std::vector<const ToldLimit*> drawn;
    for (const ToldLimit& limit : found.limits) {
        if (total(limit.hour) != 0) {
            drawn.push_back(&limit);
        }
    }
    const std::size_t active = drawn.size();
    if (active > most_charts) {
        std::stable_sort(drawn.begin(), drawn.end(),
                         [](const auto* a, const auto* b) { return total(a->hour) > total(b->hour); });
        drawn.resize(most_charts);
    }
    begin_part(html, "hour", "The last hour");
    if (drawn.empty()) {
        say_nothing(html, "No limit has decided anything in the last hour.");
    } else {
        html.markup(patterns);
        write_legend(html);
        html.open("div", {{"class", "charts"}});
        for (const ToldLimit* limit : drawn) {
            write_chart(html, found, *limit);
        }
        html.close();
    }
    if (active > drawn.size()) {
        html.element("p",
                     "These are the busiest of " + counted(active, "limit") + "; JSON has the hour of all.",
                     {{"class", "more"}});
    }
    html.close();
}

}  // namespace rate_limit
