#include "operator/acts/acting.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "core/text/readable.h"
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
    {"ban", {"key", "limit"}, change_override},
    {"allow", {"key", "limit"}, change_override},
    {"enforce", {"limit", "percent"}, change_override},
    {"off", {"limit"}, change_override},
    {"clear", {"limit"}, change_override},
};

/// Bytes of a key, or of a user's name, in a line.
constexpr std::size_t most_shown = 256;

}  // namespace

Acting::Acting(const Configuration& main, OperatorRights rights, Poster& poster, Form form)
    : main_(main),
      rights_(rights),
      poster_(poster),
      form_(std::move(form)),
      key_(shown_key(form_.value("key"))) {}

bool Acting::check_fields() {
    const std::string_view name = form_.value("do");
    const Act* act =
        std::find_if(std::begin(acts), std::end(acts), [name](const Act& act) { return act.name == name; });
    if (act == std::end(acts)) {
        fail(ActError::bad_parameter, "There is no such \"do\".");
        return false;
    }
    for (const std::string_view field : act->required) {
        if (!field.empty() && form_.find(field) == nullptr) {
            fail(ActError::bad_parameter, "The field \"" + std::string(field) + "\" is needed.");
            return false;
        }
    }
    act_ = act;
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

void log_act(const Acting& acting, std::uint64_t id, std::string_view what) noexcept {
    const std::string_view limit = acting.limits.front()->tally.name;
    const std::string_view store = acting.limits.front()->tally.store_name;
    std::string key;
    std::string by;
    try {
        if (id != 0) {
            key.append(", id ").append(id_text(id));
        }
        key += id != 0 && acting.rights().plain_keys ? ", key \"" + log_text(acting.key(), most_shown) + "\""
                                                     : "";
        const std::string_view user = acting.poster().user();
        by = user.empty() ? "" : " of user \"" + log_text(user, most_shown) + "\"";
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
