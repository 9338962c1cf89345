#include "operator/acts/acting.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/text/readable.h"
#include "operator/acts/known_id.h"
#include "operator/figures/words.h"

namespace rate_limit {

/// An act that an operator can post, or the look-up.
struct Act {
    /// The value of the field `do`; empty: there is none.
    std::string_view name;

    /// Fields that must be there, not empty.
    std::array<std::string_view, 4> required;

    bool (*go_on)(Acting& acting);
};

namespace {

/// A new act is a line here and, if it is more than a few lines, a file.
constexpr Act acts[] = {
    {"", {"key"}, look_up},
    {"reset", {"key", "limit"}, reset_window},
    {"add", {"key", "limit", "cost"}, give_back_part},
    {"ban", {"key"}, change_override},
    {"allow", {"key"}, change_override},
    {"enforce", {"limit", "percent"}, change_override},
    {"off", {"limit"}, change_override},
    {"clear", {}, change_override},
};

/// The most bytes of a reason.
constexpr std::size_t most_reason = decltype(Override::reason)::most;

/// Bytes of a key, or of a user's name, in a line.
constexpr std::size_t most_shown = 256;

}  // namespace

Acting::Acting(const Configuration& main, OperatorRights rights, Poster& poster, Form form)
    : main_(main),
      rights_(rights),
      poster_(poster),
      form_(std::move(form)),
      key_(shown_key(form_.value("key"))),
      limit_(form_.value("limit")),
      store_(form_.value("store")) {}

/// The act has failed.
bool Acting::is_bad(std::string description) {
    fail(ActError::bad_parameter, std::move(description));
    return false;
}

bool Acting::check_fields() {
    const std::string_view name = form_.value("do");
    const Act* act =
        std::find_if(std::begin(acts), std::end(acts), [name](const Act& act) { return act.name == name; });
    if (act == std::end(acts)) {
        return is_bad("There is no such \"do\".");
    }
    for (const std::string_view field : act->required) {
        const bool is_there = form_.find(field) != nullptr || (field == "key" && form_.find("id") != nullptr);
        if (!field.empty() && !is_there) {
            return is_bad("The field \"" + std::string(field) + "\" is needed.");
        }
    }
    act_ = act;
    return check_act() && check_id();
}

/// Fields that several acts have.
bool Acting::check_act() {
    const bool changes_overrides = act_->go_on == change_override;
    if (changes_overrides && form_.find("key") == nullptr && form_.find("id") == nullptr && !is_named()) {
        return is_bad("The field \"limit\" is needed, or \"key\".");
    }
    const bool is_undone_elsewhere = act_->go_on == reset_window || act_->go_on == give_back_part;
    if (is_here_alone() && (is_undone_elsewhere || form_.value("on") != "machine")) {
        return is_bad(
            "The field \"on\" is \"machine\", of \"ban\", \"allow\", \"enforce\", \"off\" and \"clear\": "
            "other "
            "acts are done where the windows are.");
    }
    if (form_.value("reason").size() > most_reason) {
        return is_bad("The field \"reason\" is too long: at most " + std::to_string(most_reason) + " bytes.");
    }
    return true;
}

/// An id stands for its key where the text of that is known; else for the key under its own limit.
bool Acting::check_id() {
    const std::string* const text = form_.find("id");
    if (text == nullptr) {
        return true;
    }
    if (!key_.empty()) {
        return is_bad("The key is told by \"key\" or by \"id\", not by both.");
    }
    const std::uint64_t id = parse_id(*text);
    if (id == 0) {
        return is_bad("The field \"id\" is 16 hex digits, as the console shows them.");
    }
    const std::optional<KnownId> known = find_id(main_, id);
    if (!known) {
        return is_bad("This machine does not know the id, or not any more: name the key by \"key\".");
    }
    key_ = known->key;
    if (!key_.empty()) {
        return true;
    }
    const Tally& of = *known->limit;
    if ((!limit_.empty() && limit_ != of.name) || (!store_.empty() && store_ != of.store_name)) {
        return is_bad("The id is of another limit or store, and this machine does not keep its key.");
    }
    if (!is_named() && act_->go_on == change_override) {
        return is_bad(
            "This machine does not keep the key of the id: name its limit by \"limit\", or the key by "
            "\"key\".");
    }
    if (act_->go_on != change_override && act_->go_on != look_up) {
        return is_bad("This machine does not keep the key of the id: name it by \"key\".");
    }
    id_ = id;
    limit_ = of.name;
    store_ = of.store_name;
    return true;
}

bool Acting::go_on() {
    if (act_ == nullptr && !check_fields()) {
        return true;
    }
    rests_ = false;
    next_turn_.clear();
    going_on_ = true;
    const bool done = act_->go_on(*this);
    going_on_ = false;
    return done;
}

void Acting::wait() noexcept {
    if (rests_) {
        next_turn_.set(1);
    }
}

void Acting::on_next_turn(void* self) noexcept {
    static_cast<Acting*>(self)->poster_.resume();
}

void Acting::on_answer(Answer& /*answer*/) noexcept {
    if (--pending_ == 0 && !going_on_) {
        poster_.resume();
    }
}

void log_act(const Acting& acting, const KeyOfLimit& of, std::string_view what) noexcept {
    const std::string_view limit = of.tally.name;
    const std::string_view store = of.tally.store_name;
    const std::uint64_t id = of.id;
    std::string key;
    std::string by;
    try {
        if (id != 0) {
            key.append(", id ").append(id_text(id));
        }
        key += !acting.key().empty() && acting.rights().plain_keys
                   ? ", key \"" + log_text(acting.key(), most_shown) + "\""
                   : "";
        const std::string_view user = acting.poster().user();
        by = user.empty() ? "" : " of user \"" + log_text(user, most_shown) + "\"";
        const std::string_view reason = acting.form().value("reason");
        by += reason.empty() ? "" : ", reason \"" + log_text(reason, most_reason) + "\"";
    } catch (...) {
        key.clear();
        by.clear();
    }
    const auto length = [](std::string_view shown) { return static_cast<int>(shown.size()); };
    log_line(acting.poster().log(), LogLevel::notice,
             "rate limit \"%.*s\" of \"%.*s\"%s: %.*s, by the console%s", length(limit), limit.data(),
             length(store), store.data(), key.c_str(), length(what), what.data(), by.c_str());
}

}  // namespace rate_limit
