#include "operator/page/key_html.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/figure_text.h"
#include "core/text/html_text.h"
#include "core/text/readable.h"
#include "limiter/kinds/bucket.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/words.h"
#include "operator/html/frame.h"

namespace rate_limit {

namespace {

/// Words of the page for windows alone, for buckets alone, and for both: a limit with a variable burst has
/// buckets and windows.
struct WordsOfKinds {
    constexpr WordsOfKinds(const char* same) noexcept : windows(same), buckets(same), both(same) {}
    constexpr WordsOfKinds(const char* windows, const char* buckets, const char* both) noexcept
        : windows(windows), buckets(buckets), both(both) {}

    std::string_view of(const std::vector<SeenWindow>& all) const noexcept {
        const auto is_bucket = [](const SeenWindow& window) { return window.kind == &token_buckets; };
        const bool none = std::none_of(all.begin(), all.end(), is_bucket);
        return none ? windows : std::all_of(all.begin(), all.end(), is_bucket) ? buckets : both;
    }

    std::string_view windows;
    std::string_view buckets;
    std::string_view both;
};

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
    std::string_view done;  ///< what the page says then
    WordsOfKinds words;
    std::array<Field, 2> fields{};
};

constexpr Field for_how_long{"for", "For how long (1s to 30d)", "1h"};

constexpr ActForm forms[] = {
    {"reset",
     true,
     "Reset",
     "Reset: all that was used has been given back.",
     {"Gives back all that is used; the end of the window stays.",
      "Gives back all that is used: the bucket is full then.",
      "Gives back all that is used: a bucket is full then, and the end of a window stays."}},
    {"add",
     true,
     "Give back",
     "Given back.",
     "Gives back a part of what is used.",
     {{{"cost", "How much", "1"}}}},
    {"ban", true, "Ban", "Banned.", "Until then the limit is 0 for this key.", {{for_how_long}}},
    {"allow",
     true,
     "Allow",
     "Allowed.",
     "Until then the limit does not apply to this key.",
     {{for_how_long}}},
    {"clear", true, "Clear", "The override has ended.", "Ends the override of this key."},
    {"enforce",
     false,
     "Enforce",
     "Enforced for that part of the keys.",
     "Of 100 keys so many are held to the limit, the others in a dry run.",
     {{{"percent", "Percent of the keys", "100"}, for_how_long}}},
    {"off",
     false,
     "Switch off",
     "Switched off.",
     "Until then the limit applies to nobody.",
     {{for_how_long}}},
    {"clear", false, "Clear", "The override has ended.", "Ends the override of the whole limit."},
};

/// The key as it can be typed again.
std::string typed_key(const Form& form) {
    return readable(shown_key(form.value("key")));
}

void begin_form(HtmlText& html, const PageView& view) {
    html.open("form", {{"method", "post"}, {"action", view.below + "key"}});
}

void write_hidden(HtmlText& html, std::string_view name, std::string_view value) {
    html.single("input", {{"type", "hidden"}, {"name", name}, {"value", value}});
}

/// A choice of names of the configuration, or of all.
void write_choice(HtmlText& html, std::string_view name, std::string_view label,
                  const std::set<std::string_view>& names, std::string_view chosen) {
    html.open("label").words(label).open("select", {{"name", name}});
    html.element("option", "all", {{"value", ""}});
    for (const std::string_view each : names) {
        if (each == chosen) {
            html.open("option", {{"value", each}, {"selected", ""}});
        } else {
            html.open("option", {{"value", each}});
        }
        html.text(each).close();
    }
    html.close().close();
}

/// `key`, as typed, is of the look-up that goes on; empty: the operator types one.
void write_look_up(HtmlText& html, const Configuration& main, const PageView& view, const Form& form,
                   std::string_view key) {
    std::set<std::string_view> limits;
    std::set<std::string_view> stores;
    if (main.zone != nullptr) {
        for (const Tally& tally : main.tallies->all()) {
            limits.insert(tally.name);
            stores.insert(tally.store_name);
        }
    }
    stores.erase(Tallies::no_store);
    begin_form(html, view);
    html.open("div", {{"class", "fields"}});
    if (key.empty()) {
        html.open("label").words("Key, as the limit has it; %XX is a byte");
        html.single("input", {{"name", "key"},
                              {"value", view.shows_keys ? typed_key(form) : std::string()},
                              {"size", "40"},
                              {"required", ""},
                              {"autocomplete", "off"},
                              {"spellcheck", "false"}});
        html.close();
    } else {
        write_hidden(html, "key", key);
    }
    write_choice(html, "limit", "Limit", limits, form.value("limit"));
    write_choice(html, "store", "Store", stores, form.value("store"));
    html.element("button", key.empty() ? "Look up" : "Look up the same key").close().close();
}

/// A posted key need not be typed again where keys are not shown.
void write_look_ups(HtmlText& html, const Configuration& main, const PageView& view, const Form& form) {
    begin_part(html, "look-up", "Look up a key");
    const std::string key = typed_key(form);
    if (!view.shows_keys && !key.empty()) {
        write_look_up(html, main, view, form, key);
    }
    write_look_up(html, main, view, form, {});
    html.close();
}

constexpr WordsOfKinds caption{"Its windows", "Its buckets", "Its windows and buckets"};
constexpr WordsOfKinds kind_heading{"Window", "Bucket", "Window or bucket"};
constexpr WordsOfKinds reset_heading{"Ends", "Is full", "Ends, or is full"};

void write_windows(HtmlText& html, const SeenLimit& limit, std::string_view id) {
    std::vector<Heading> headings = headings_of("Period", window_columns);
    for (Heading& heading : headings) {
        heading.name = heading.name == kind_heading.windows    ? kind_heading.of(limit.windows)
                       : heading.name == reset_heading.windows ? reset_heading.of(limit.windows)
                                                               : heading.name;
    }
    begin_table(html, id, caption.of(limit.windows), headings);
    for (const SeenWindow& window : limit.windows) {
        write_row(html, period_and_unit(window.rate), window_columns, window, now_millis());
    }
    end_table(html);
}

void write_time(HtmlText& html, Millis time) {
    html.element("time", utc(time), {{"datetime", iso_time(time)}});
}

void write_override(HtmlText& html, const Override& override) {
    html.open("p").open("b").words("Override: ").text(to_string(override.kind));
    if (override.kind == OverrideKind::enforce) {
        html.words(" " + std::to_string(override.percent) + "%");
    }
    html.close().words(" until ");
    write_time(html, override.until);
    html.words(", since ");
    write_time(html, override.from);
    html.words(", by ").text(override.by).words(", on ").text(to_string(override.scope)).words(".").close();
}

void write_slots(HtmlText& html, const SeenSlots& slots, std::string_view id) {
    std::vector<Heading> headings;
    add_headings(headings, slots_columns);
    begin_table(html, id, "Its running requests", headings);
    html.open("tr");
    write_cells(html, slots_columns, slots, now_millis());
    html.close();
    end_table(html);
}

/// Nothing where nobody was asked.
void write_no_window(HtmlText& html, SeenLimit::Known known) {
    if (known == SeenLimit::Known::told) {
        say_nothing(html, "No open window of it is known, nor a bucket that is not full: nothing is used.");
    } else if (known == SeenLimit::Known::away) {
        say_nothing(html, "What is used is not known: the store did not answer.");
    }
}

/// One of several limits: the acts are on the page of that limit alone.
void write_narrowing(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key) {
    begin_form(html, view);
    write_hidden(html, "key", key);
    write_hidden(html, "limit", limit.limit);
    write_hidden(html, "store", limit.store);
    html.element("button", "Act on this limit").close();
}

/// It gives back what windows of one period have used.
bool is_of_windows(const ActForm& act) noexcept {
    return act.act == "reset" || act.act == "add";
}

/// A limit may have several periods: an act on a window names one of those that are seen.
void write_periods(HtmlText& html, const SeenLimit& limit) {
    std::map<std::pair<std::int64_t, Calendar>, Rate> periods;
    for (const SeenWindow& window : limit.windows) {
        periods.emplace(std::make_pair(window.rate.period, window.rate.calendar), window.rate);
    }
    if (periods.size() == 1) {
        write_hidden(html, "period", period_text(periods.begin()->second));
    }
    if (periods.size() < 2) {
        return;
    }
    html.open("label").words("Period").open("select", {{"name", "period"}});
    for (const auto& [period, rate] : periods) {
        html.element("option", period_and_unit(rate), {{"value", period_text(rate)}});
    }
    html.close().close();
}

void write_form(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key,
                const ActForm& act) {
    begin_form(html, view);
    html.element("p", act.words.of(limit.windows));
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

/// A form for each act that there is on one limit, of those on windows where there are any; `key`, as it is
/// typed, is empty where none was looked up.
void write_act_forms(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key) {
    if (!key.empty()) {
        write_group(html, view, limit, key, true);
    }
    write_group(html, view, limit, key, false);
}

void write_limit(HtmlText& html, const PageView& view, const SeenLimit& limit, std::string_view key,
                 std::size_t number, bool alone) {
    const std::string id = "found-" + std::to_string(number);
    begin_part(html, id, "Limit " + readable(limit.limit) + ", store " + readable(limit.store));
    if (limit.id) {
        html.open("p").words("Id ").element("code", id_text(*limit.id)).close();
    }
    if (limit.override) {
        write_override(html, *limit.override);
    }
    if (limit.slots) {
        write_slots(html, *limit.slots, id + "-slots");
    } else if (limit.windows.empty()) {
        write_no_window(html, limit.known);
    } else {
        write_windows(html, limit, id + "-windows");
    }
    if (alone) {
        write_act_forms(html, view, limit, key);
    } else {
        write_narrowing(html, view, limit, key);
    }
    html.close();
}

/// The act's result: a sentence.
std::string line_of(const Form& form, const ActResult& result) {
    if (result.error != ActError::none) {
        return result.description;
    }
    const auto* done = std::find_if(std::begin(forms), std::end(forms),
                                    [&](const ActForm& act) { return act.act == form.value("do"); });
    return std::string(done != std::end(forms) ? done->done : "Looked up: nothing was changed.");
}

void begin_key_page(HtmlText& html, const PageView& view, std::string_view line, bool good) {
    begin_html(html, {line, false});
    html.open("header").open("div", {{"class", good ? "health good" : "health bad"}});
    html.element("h1", line).close();
    html.open("nav", {{"aria-label", "Console"}}).element("a", "All limits", {{"href", view.page()}});
    html.close().close().open("main");
}

class ActPage final : public Pieces<HtmlText> {
public:
    ActPage(const Configuration& main, PageView view, const Form& form, const ActResult& result)
        : view_(std::move(view)), result_(result), key_(typed_key(form)) {
        add([this, &main, &form](HtmlText& html) {
            begin_key_page(html, view_, line_of(form, result_), result_.error == ActError::none);
            write_look_ups(html, main, view_, form);
        });
        add_each(result.limits, [this](HtmlText& html, const SeenLimit& limit) {
            write_limit(html, view_, limit, key_, ++written_, result_.limits.size() == 1);
        });
        add([this](HtmlText& html) {
            if (result_.error == ActError::none && result_.limits.empty()) {
                say_nothing(html, "No limit knows this key.");
            }
            html.close();
            end_html(html);
        });
    }

private:
    const PageView view_;
    const ActResult& result_;
    const std::string key_;
    std::size_t written_ = 0;
};

}  // namespace

std::string write_key_form(const Configuration& main, const PageView& view) {
    HtmlText html;
    begin_key_page(html, view, "Look up a key: nothing is changed by that.", true);
    write_look_ups(html, main, view, Form());
    html.close();
    end_html(html);
    return html.take();
}

std::unique_ptr<Document> tell_act_html(const Configuration& main, PageView view, const Form& form,
                                        const ActResult& result) {
    return std::make_unique<ActPage>(main, std::move(view), form, result);
}

}  // namespace rate_limit
