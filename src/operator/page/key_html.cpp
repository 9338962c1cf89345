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
#include "limiter/overrides/effect.h"
#include "limiter/tallies/tallies.h"
#include "operator/acts/known_id.h"
#include "operator/figures/words.h"
#include "operator/html/frame.h"
#include "operator/page/act_forms.h"
#include "operator/page/forms.h"

namespace rate_limit {

namespace {

/// The key as it can be typed again.
std::string typed_key(const Form& form) {
    return readable(shown_key(form.value("key")));
}

/// The key, as the forms that follow name it again: by its id where that was posted.
KeyField key_field(const Form& form) {
    const std::uint64_t id = parse_id(form.value("id"));
    return id != 0 ? KeyField{"id", id_text(id)} : KeyField{"key", typed_key(form)};
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

/// `key` is of the look-up that goes on; empty: the operator types one.
void write_look_up(HtmlText& html, const Configuration& main, const PageView& view, const Form& form,
                   const KeyField& key) {
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
    if (key.value.empty()) {
        html.open("label").words("Key, as the limit has it; %XX is a byte");
        html.single("input", {{"name", "key"},
                              {"value", view.shows_keys ? typed_key(form) : std::string()},
                              {"size", "40"},
                              {"required", ""},
                              {"autocomplete", "off"},
                              {"spellcheck", "false"}});
        html.close();
    } else {
        write_hidden(html, key.name, key.value);
    }
    write_choice(html, "limit", "Limit", limits, form.value("limit"));
    write_choice(html, "store", "Store", stores, form.value("store"));
    html.element("button", key.value.empty() ? "Look up" : "Look up the same key").close().close();
}

/// A posted key need not be typed again where keys are not shown.
void write_look_ups(HtmlText& html, const Configuration& main, const PageView& view, const Form& form) {
    begin_part(html, "look-up", "Look up a key");
    const KeyField key = key_field(form);
    if (!key.value.empty() && (!view.shows_keys || key.name == "id")) {
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
    html.words(", by ").text(override.by).words(", on ").text(to_string(override.scope)).words(".");
    if (!override.reason.empty()) {
        html.words(" Reason: ").open("q").text(override.reason).close();
    }
    html.close();
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
    } else if (known == SeenLimit::Known::unkept) {
        say_nothing(html, "What is used is not known: this machine keeps the key's id, and not the key.");
    }
}

/// One of several limits: the acts are on the page of that limit alone.
void write_narrowing(HtmlText& html, const PageView& view, const SeenLimit& limit, const KeyField& key) {
    begin_form(html, view);
    write_hidden(html, key.name, key.value);
    write_hidden(html, "limit", limit.limit);
    write_hidden(html, "store", limit.store);
    html.element("button", "Act on this limit").close();
}

/// The use of a window, by regions.
void write_regions(HtmlText& html, const SeenWindow& window) {
    std::string line = period_and_unit(window.rate) + " by region: ";
    for (const SeenRegion& region : window.regions) {
        const char* const mark = region.here ? " (here)" : region.told ? "" : " (as last read)";
        line += (&region != &window.regions.front() ? ", " : "") + region.name + " " + grouped(region.used) +
                mark;
    }
    html.element("p", line + ". Resets and refunds act on what " + window.regions.front().name +
                          " has used, and on nothing else.");
}

void write_limit(HtmlText& html, const ActsOfKey& of, const SeenLimit& limit, std::size_t number,
                 const ActResult& result) {
    const std::string id = "found-" + std::to_string(number);
    begin_part(html, id, "Limit " + readable(limit.limit) + ", store " + readable(limit.store));
    if (limit.id) {
        html.open("p").words("Id ").element("code", id_text(*limit.id)).close();
    }
    write_undo(html, of, limit);
    if (limit.override) {
        write_override(html, *limit.override);
    }
    if (limit.slots) {
        write_slots(html, *limit.slots, id + "-slots");
    } else if (limit.windows.empty()) {
        write_no_window(html, limit.known);
    } else {
        write_windows(html, limit, id + "-windows");
        for (const SeenWindow& window : limit.windows) {
            if (!window.regions.empty()) {
                write_regions(html, window);
            }
        }
    }
    if (result.asks) {
        // the act comes first
    } else if (result.limits.size() == 1) {
        write_act_forms(html, of, limit);
    } else {
        write_narrowing(html, of.view, limit, of.key);
    }
    html.close();
}

/// The act's result: a sentence or two.
std::string line_of(const Form& form, const ActResult& result) {
    if (result.error != ActError::none) {
        return result.description;
    }
    const ActForm* const act = find_form(form);
    if (act == nullptr) {
        return "Looked up: nothing was changed.";
    }
    if (result.asks) {
        return std::string(button_of(*act)) + ": are you sure? Nothing was changed.";
    }
    std::string line(done_by(*act));
    line += result.named ? "" : " Under " + counted(result.limits.size(), "limit") + ".";
    return line.append(form.find("on") != nullptr ? " On this machine alone." : "");
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
        : view_(std::move(view)), result_(result), of_{main, view_, form, key_field(form)} {
        add([this](HtmlText& html) { begin(html); });
        add_each(result.limits, [this](HtmlText& html, const SeenLimit& limit) {
            write_limit(html, of_, limit, ++written_, result_);
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
    /// The answer comes before the form of the next look-up.
    void begin(HtmlText& html) const {
        begin_key_page(html, view_, line_of(of_.form, result_), result_.error == ActError::none);
        if (result_.asks) {
            write_question(html, of_, result_);
            return;
        }
        if (result_.error == ActError::none && result_.limits.size() > 1) {
            write_undo_of_all(html, of_, result_);
        }
        write_look_ups(html, of_.main, view_, of_.form);
        if (result_.limits.size() > 1 && !of_.key.value.empty()) {
            write_acts_of_all(html, of_);
        }
    }

    const PageView view_;
    const ActResult& result_;
    const ActsOfKey of_;
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
