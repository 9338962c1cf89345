#include "operator/page/key_html.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/text/figure_text.h"
#include "core/text/html_text.h"
#include "core/text/utf8.h"
#include "limiter/tallies/tallies.h"
#include "operator/figures/words.h"
#include "operator/html/frame.h"
#include "operator/page/act_forms.h"

namespace rate_limit {

namespace {

std::string_view field_of(const Form& form, std::string_view name) noexcept {
    const std::string* value = form.find(name);
    return value != nullptr ? std::string_view(*value) : std::string_view();
}

/// The key as it can be typed again.
std::string typed_key(const Form& form) {
    return readable(shown_key(field_of(form, "key")));
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
    html.open("form", {{"method", "post"}, {"action", view.below + "key"}})
        .open("div", {{"class", "fields"}});
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
    write_choice(html, "limit", "Limit", limits, field_of(form, "limit"));
    write_choice(html, "store", "Store", stores, field_of(form, "store"));
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
    const ShownKinds kinds = kinds_of(limit);
    std::vector<Heading> headings = headings_of("Period", window_columns);
    for (Heading& heading : headings) {
        heading.name = heading.name == kind_heading.windows    ? kind_heading.of(kinds)
                       : heading.name == reset_heading.windows ? reset_heading.of(kinds)
                                                               : heading.name;
    }
    begin_table(html, id, caption.of(kinds), headings);
    for (const SeenWindow& window : limit.windows) {
        const bool month = window.kind == WindowKind::month;
        write_row(html, period_text(window.period, month) + (month ? "" : " s"), window_columns, window,
                  now_millis());
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
    html.open("form", {{"method", "post"}, {"action", view.below + "key"}});
    write_hidden(html, "key", key);
    write_hidden(html, "limit", limit.limit);
    write_hidden(html, "store", limit.store);
    html.element("button", "Act on this limit").close();
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
    struct Done {
        std::string_view act;
        std::string_view words;
    };
    constexpr Done all[] = {
        {"", "Looked up: nothing was changed."},
        {"reset", "Reset: all that was used has been given back."},
        {"add", "Given back."},
        {"ban", "Banned."},
        {"allow", "Allowed."},
        {"enforce", "Enforced for that part of the keys."},
        {"off", "Switched off."},
        {"clear", "The override has ended."},
    };
    const std::string_view act = field_of(form, "do");
    for (const Done& done : all) {
        if (done.act == act) {
            return std::string(done.words);
        }
    }
    return "Done.";
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
