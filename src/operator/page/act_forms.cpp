#include "operator/page/act_forms.h"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "operator/figures/words.h"

namespace rate_limit {

namespace {

/// A field of a form, in which an operator types.
struct Field {
    std::string_view name;
    std::string_view label;
    std::string_view value;
};

struct ActForm {
    std::string_view act;
    bool of_key;  ///< it concerns one key; else all keys of the limit
    std::string_view button;
    WordsOfKinds words;
    std::array<Field, 2> fields;
};

constexpr Field no_field{};
constexpr Field for_how_long{"for", "For how long (1s to 30d)", "1h"};

/// Words that are the same for windows and buckets.
constexpr WordsOfKinds same(std::string_view words) noexcept {
    return {words, words, words};
}

constexpr ActForm forms[] = {
    {"reset",
     true,
     "Reset",
     {"Gives back all that is used; the end of the window stays.",
      "Gives back all that is used: the bucket is full then.",
      "Gives back all that is used: a bucket is full then, and the end of a window stays."},
     {{no_field, no_field}}},
    {"add",
     true,
     "Give back",
     same("Gives back a part of what is used."),
     {{{"cost", "How much", "1"}, no_field}}},
    {"ban", true, "Ban", same("Until then the limit is 0 for this key."), {{for_how_long, no_field}}},
    {"allow",
     true,
     "Allow",
     same("Until then the limit does not apply to this key."),
     {{for_how_long, no_field}}},
    {"clear", true, "Clear", same("Ends the override of this key."), {{no_field, no_field}}},
    {"enforce",
     false,
     "Enforce",
     same("Of 100 keys so many are held to the limit, the others in a dry run."),
     {{{"percent", "Percent of the keys", "100"}, for_how_long}}},
    {"off", false, "Switch off", same("Until then the limit applies to nobody."), {{for_how_long, no_field}}},
    {"clear", false, "Clear", same("Ends the override of the whole limit."), {{no_field, no_field}}},
};

/// It gives back what windows of one period have used.
bool is_of_windows(const ActForm& act) noexcept {
    return act.act == "reset" || act.act == "add";
}

/// A limit may have several periods: an act on a window names one of those that are seen.
void write_periods(HtmlText& html, const SeenLimit& limit) {
    std::set<std::pair<std::int64_t, bool>> periods;
    for (const SeenWindow& window : limit.windows) {
        periods.emplace(window.period, window.kind == WindowKind::month);
    }
    if (periods.size() == 1) {
        write_hidden(html, "period", period_text(periods.begin()->first, periods.begin()->second));
    }
    if (periods.size() < 2) {
        return;
    }
    html.open("label").words("Period").open("select", {{"name", "period"}});
    for (const auto& [seconds, month] : periods) {
        const std::string period = period_text(seconds, month);
        html.element("option", period + (month ? "" : " s"), {{"value", period}});
    }
    html.close().close();
}

void write_form(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key,
                const ActForm& act) {
    html.open("form", {{"method", "post"}, {"action", view.below + "key"}});
    html.element("p", act.words.of(kinds_of(limit)));
    write_hidden(html, "limit", limit.limit);
    write_hidden(html, "store", limit.store);
    if (act.of_key) {
        write_hidden(html, "key", key);
    }
    html.open("div", {{"class", "fields"}});
    if (is_of_windows(act)) {
        write_periods(html, limit);
    }
    for (const Field& field : act.fields) {
        if (!field.name.empty()) {
            html.open("label").words(field.label);
            html.single("input",
                        {{"name", field.name}, {"value", field.value}, {"size", "6"}, {"required", ""}});
            html.close();
        }
    }
    html.element("button", act.button, {{"name", "do"}, {"value", act.act}});
    html.close().close();
}

void write_group(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key,
                 bool of_key) {
    bool begun = false;
    for (const ActForm& act : forms) {
        const bool is_idle = is_of_windows(act) && limit.windows.empty();
        if (act.of_key != of_key || is_idle) {
            continue;
        }
        if (!begun) {
            html.element("h3", of_key ? "For this key" : "For all keys of this limit");
            html.open("div", {{"class", "acts"}});
            begun = true;
        }
        write_form(html, view, limit, key, act);
    }
    if (begun) {
        html.close();
    }
}

}  // namespace

void write_hidden(HtmlText& html, std::string_view name, std::string_view value) {
    html.single("input", {{"type", "hidden"}, {"name", name}, {"value", value}});
}

void write_act_forms(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key) {
    if (!key.empty()) {
        write_group(html, view, limit, key, true);
    }
    write_group(html, view, limit, key, false);
}

}  // namespace rate_limit
