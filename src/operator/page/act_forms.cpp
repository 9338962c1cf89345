#include "operator/page/act_forms.h"

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "core/text/figure_text.h"
#include "core/text/readable.h"
#include "limiter/overrides/effect.h"
#include "operator/figures/words.h"

namespace rate_limit {

struct ActForm {
    /// A field in which an operator types.
    struct Field {
        std::string_view name;
        std::string_view label;
        std::string_view value;
    };

    std::string_view act;
    bool of_key;  ///< it concerns one key; else all keys of the limit
    std::string_view button;
    std::string_view done;  ///< what the page says then
    WordsOfKinds words;
    std::array<Field, 3> fields{};
};

namespace {

constexpr ActForm::Field for_how_long{"for", "For how long (1s to 30d)", "1h"};
constexpr ActForm::Field why{"reason", "Reason (shown and logged)", ""};

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
    {"ban", true, "Ban", "Banned.", "Until then the limit is 0 for this key.", {{for_how_long, why}}},
    {"allow",
     true,
     "Allow",
     "Allowed.",
     "Until then the limit does not apply to this key.",
     {{for_how_long, why}}},
    {"clear", true, "Clear", "The override has ended.", "Ends the override of this key."},
    {"enforce",
     false,
     "Enforce",
     "Enforced for that part of the keys.",
     "Of 100 keys so many are held to the limit, the others in a dry run.",
     {{{"percent", "Percent of the keys", "100"}, for_how_long, why}}},
    {"off",
     false,
     "Switch off",
     "Switched off.",
     "Until then the limit applies to nobody.",
     {{for_how_long, why}}},
    {"clear", false, "Clear", "The override has ended.", "Ends the override of the whole limit."},
};

/// Bytes from anywhere as the value of a field, which is UTF-8: those that are none are shown as %XX.
std::string typed_text(std::string_view text) {
    std::string typed = readable(text);
    for (std::size_t at = typed.find("%25"); at != std::string::npos; at = typed.find("%25", at + 1)) {
        typed.erase(at + 1, 2);
    }
    return typed;
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

/// Another act is asked for once more before it is done: it concerns all clients.
bool is_asked_twice(const ActForm& act) noexcept {
    return act.act == "off" || act.act == "enforce";
}

/// An override may be set on this machine alone, although others share those of the store. Where this machine
/// does not keep the key, that is all that can be done.
void write_where(HtmlText& html, const ActForm& act, const SeenLimit& limit, bool shares) {
    if (!shares || is_of_windows(act)) {
        return;
    }
    const bool only_here = limit.known == SeenLimit::Known::unkept;
    html.open("label");
    if (only_here) {
        html.single("input", {{"type", "checkbox"}, {"name", "on"}, {"value", "machine"}, {"checked", ""}});
    } else {
        html.single("input", {{"type", "checkbox"}, {"name", "on"}, {"value", "machine"}});
    }
    html.words(" on this machine alone").close();
}

void write_fields(HtmlText& html, const ActForm& act) {
    for (const ActForm::Field& field : act.fields) {
        if (field.name.empty()) {
            continue;
        }
        html.open("label").words(field.label);
        if (field.value.empty()) {
            html.single("input", {{"name", field.name}, {"size", "20"}, {"maxlength", "128"}});
        } else {
            html.single("input",
                        {{"name", field.name}, {"value", field.value}, {"size", "6"}, {"required", ""}});
        }
        html.close();
    }
}

/// `limit` is null in a form that is of all limits of the key.
void write_form(HtmlText& html, const ActsOfKey& of, const SeenLimit* limit, const ActForm& act) {
    begin_form(html, of.view);
    html.element("p", limit != nullptr ? act.words.of(limit->windows) : act.words.windows);
    if (limit != nullptr) {
        write_hidden(html, "limit", limit->limit);
        write_hidden(html, "store", limit->store);
    }
    if (act.of_key) {
        write_hidden(html, of.key.name, of.key.value);
    }
    if (is_asked_twice(act)) {
        write_hidden(html, "ask", "first");
    }
    html.open("div", {{"class", "fields"}});
    if (limit != nullptr && is_of_windows(act)) {
        write_periods(html, *limit);
    }
    write_fields(html, act);
    if (limit != nullptr) {
        write_where(html, act, *limit, shares_overrides(of.main, limit->store));
    }
    html.element("button", act.button, {{"name", "do"}, {"value", act.act}});
    html.close().close();
}

/// `limit` is null where they are of all limits of the key.
void write_group(HtmlText& html, const ActsOfKey& of, const SeenLimit* limit, bool of_key) {
    html.element("h3", of_key ? "For this key" : "For all keys of this limit");
    html.open("div", {{"class", "acts"}});
    for (const ActForm& act : forms) {
        const bool is_idle = is_of_windows(act) && (limit == nullptr || limit->windows.empty());
        if (act.of_key == of_key && !is_idle) {
            write_form(html, of, limit, act);
        }
    }
    html.close();
}

}  // namespace

const ActForm* find_form(const Form& form) noexcept {
    const auto* found = std::find_if(std::begin(forms), std::end(forms),
                                     [&](const ActForm& act) { return act.act == form.value("do"); });
    return found != std::end(forms) ? found : nullptr;
}

std::string_view button_of(const ActForm& act) noexcept {
    return act.button;
}

std::string_view done_by(const ActForm& act) noexcept {
    return act.done;
}

void write_act_forms(HtmlText& html, const ActsOfKey& of, const SeenLimit& limit) {
    if (!of.key.value.empty()) {
        write_group(html, of, &limit, true);
    }
    write_group(html, of, &limit, false);
}

void write_acts_of_all(HtmlText& html, const ActsOfKey& of) {
    begin_part(html, "all", "All limits of the key");
    write_group(html, of, nullptr, true);
    html.close();
}

void write_undo(HtmlText& html, const ActsOfKey& of, const SeenLimit& limit) {
    const bool has_cleared = override_kind(of.form.value("do")) == OverrideKind::none;
    if (!limit.on || (has_cleared && !limit.before)) {
        return;
    }
    begin_form(html, of.view);
    write_hidden(html, "limit", limit.limit);
    write_hidden(html, "store", limit.store);
    if (limit.id) {
        write_hidden(html, of.key.name, of.key.value);
    }
    if (*limit.on == OverrideScope::machine && shares_overrides(of.main, limit.store)) {
        write_hidden(html, "on", "machine");
    }
    if (limit.before) {
        const Override& before = *limit.before;
        const std::int64_t left = std::max<std::int64_t>(1, seconds_until(before.until, now_millis()));
        write_hidden(html, "for", std::to_string(left) + "s");
        write_hidden(html, "percent", std::to_string(before.percent));
        write_hidden(html, "reason", typed_text(before.reason));
    }
    const std::string_view act = limit.before ? to_string(limit.before->kind) : "clear";
    html.open("p").element("button", "Undo", {{"name", "do"}, {"value", act}}).words(" ");
    html.words(limit.before ? "The override of before, " + std::string(act) + ", holds again."
                            : "The override ends.");
    html.close().close();
}

void write_undo_of_all(HtmlText& html, const ActsOfKey& of, const ActResult& result) {
    const auto is_new = [](const SeenLimit& limit) { return limit.on && !limit.before; };
    if (result.named || override_kind(of.form.value("do")) == OverrideKind::none ||
        !std::all_of(result.limits.begin(), result.limits.end(), is_new)) {
        return;
    }
    begin_form(html, of.view);
    write_hidden(html, of.key.name, of.key.value);
    for (const std::string_view field : {"store", "on"}) {
        if (of.form.find(field) != nullptr) {
            write_hidden(html, field, typed_text(of.form.value(field)));
        }
    }
    html.open("p").element("button", "Undo all", {{"name", "do"}, {"value", "clear"}});
    html.words(" The overrides of all limits of the key end.").close().close();
}

void write_question(HtmlText& html, const ActsOfKey& of, const ActResult& result) {
    const ActForm* act = find_form(of.form);
    if (act == nullptr || result.limits.empty()) {
        return;
    }
    begin_part(html, "sure", "Nothing is changed yet");
    html.element("p", act->words.of(result.limits.front().windows));
    begin_form(html, of.view);
    for (const std::string_view field : {"limit", "store", "id", "percent", "for", "reason", "on"}) {
        if (of.form.find(field) != nullptr) {
            write_hidden(html, field, typed_text(of.form.value(field)));
        }
    }
    if (of.key.name == "key" && !of.key.value.empty()) {
        write_hidden(html, of.key.name, of.key.value);
    }
    html.element("button", act->button, {{"name", "do"}, {"value", act->act}}).close().close();
}

}  // namespace rate_limit
