#include <optional>
#include <string>
#include <string_view>

#include "core/digits.h"
#include "core/overrides/override.h"
#include "ngx/acts/act_log.h"
#include "ngx/acts/acting.h"
#include "ngx/acts/acts.h"
#include "ngx/acts/key_of_limit.h"
#include "ngx/acts/limits_of_key.h"
#include "ngx/base/zone.h"

namespace rate_limit {

namespace {

constexpr ngx_int_t usual_time = 3600;
constexpr ngx_int_t longest_time = ngx_int_t{30} * 24 * 3600;

/// How far it has come; Acting::step.
enum Step : int { begun, looking };

bool parse_for(const Acting& acting, ngx_int_t& seconds) noexcept {
    const std::string* text = acting.form().find("for");
    seconds = usual_time;
    if (text != nullptr) {
        ngx_str_t written = str(*text);
        seconds = ngx_parse_time(&written, 1);
    }
    return seconds >= 1 && seconds <= longest_time;
}

std::string describe(const std::optional<Override>& what, Millis now) {
    if (!what) {
        return "none";
    }
    std::string text(to_string(what->kind));
    if (what->kind == OverrideKind::enforce) {
        text += " " + std::to_string(what->percent) + "%";
    }
    return text + " for " + std::to_string(seconds_until(what->until, now)) + " s";
}

/// The override that the act is about: of the key where it names one.
OverrideSubject subject_of(const Acting& acting) noexcept {
    const KeyOfLimit& limit = *acting.limits.front();
    return {limit.tally.digest, acting.key().empty() ? 0 : limit.id};
}

std::optional<Override> find_override(const Acting& acting) {
    for (Override& what : acting.main().zone->overrides().read(now_millis())) {
        if (what.subject == subject_of(acting)) {
            return std::move(what);
        }
    }
    return std::nullopt;
}

/// Logs what was and what is.
void log_change(const Acting& acting, const std::optional<Override>& before,
                const std::optional<Override>& after) {
    const Millis now = now_millis();
    const KeyOfLimit& limit = *acting.limits.front();
    log_act(acting, limit.tally.name, limit.tally.store_name, subject_of(acting).key,
            "override: " + describe(after, now) + ", before: " + describe(before, now));
}

/// What the fields say, of the limit that they name. False: the act has failed.
bool read_fields(Acting& acting, OverrideKind kind, Override& what) {
    ngx_int_t seconds = 0;
    std::int64_t percent = 0;
    if (!is_of_key(kind) && !acting.key().empty()) {
        acting.fail(ActError::bad_parameter,
                    "\"" + std::string(to_string(kind)) + "\" is of a whole limit: leave \"key\" empty.");
        return false;
    }
    if (!parse_for(acting, seconds)) {
        acting.fail(ActError::bad_parameter, "The field \"for\" is a time from 1s to 30d, such as 10m.");
        return false;
    }
    if (kind == OverrideKind::enforce &&
        (!parse_digits(*acting.form().find("percent"), percent) || percent > 100)) {
        acting.fail(ActError::bad_parameter, "The field \"percent\" is a number from 0 to 100.");
        return false;
    }
    const ngx_str_t& client = acting.request().connection->addr_text;
    what.subject = subject_of(acting);
    what.kind = kind;
    what.percent = static_cast<std::uint8_t>(percent);
    what.from = now_millis();
    what.until = what.from + static_cast<Millis>(seconds) * 1000;
    what.by = view(client);
    what.text = acting.console().plain_keys ? acting.key() : "";
    return true;
}

/// Finds the one limit. False: the act has failed.
bool find_limit(Acting& acting) {
    if (!find_limits(acting)) {
        return false;
    }
    if (acting.limits.size() > 1) {
        acting.fail(ActError::ambiguous, "The limit is in several stores: name one by \"store\".");
        return false;
    }
    return true;
}

/// Sets it on this machine. False: the act has failed.
bool set_here(Acting& acting, const Override& what) {
    const std::optional<Override> before = find_override(acting);
    OverrideTable& table = acting.main().zone->overrides();
    if (!table.put(what, now_millis())) {
        acting.fail(ActError::full, "There are " + std::to_string(table.capacity()) +
                                        " overrides, and no room for more: end one by \"clear\".");
        return false;
    }
    log_change(acting, before, what);
    return true;
}

void clear_here(const Acting& acting) {
    const std::optional<Override> before = find_override(acting);
    if (before && acting.main().zone->overrides().remove(subject_of(acting), now_millis())) {
        log_change(acting, before, std::nullopt);
    }
}

/// It is done. Asks what there is to show.
bool begin_look(Acting& acting) {
    acting.step = looking;
    ask_primaries(acting);
    return !acting.waiting();
}

/// What is shown of windows that no primary tells is empty: the act is done all the same.
bool show(Acting& acting) {
    if (!take_answers(acting)) {
        for (const auto& limit : acting.limits) {
            limit->windows.clear();
        }
    }
    show_limits(acting);
    return true;
}

bool set_override(Acting& acting, OverrideKind kind) {
    if (acting.step == begun) {
        Override what;
        if (!find_limit(acting) || !read_fields(acting, kind, what) || !set_here(acting, what)) {
            return true;
        }
        if (!begin_look(acting)) {
            return false;
        }
    }
    return show(acting);
}

}  // namespace

bool ban(Acting& acting) {
    return set_override(acting, OverrideKind::ban);
}

bool allow(Acting& acting) {
    return set_override(acting, OverrideKind::allow);
}

bool enforce(Acting& acting) {
    return set_override(acting, OverrideKind::enforce);
}

bool switch_off(Acting& acting) {
    return set_override(acting, OverrideKind::off);
}

bool clear_override(Acting& acting) {
    if (acting.step == begun) {
        if (!find_limit(acting)) {
            return true;
        }
        clear_here(acting);
        if (!begin_look(acting)) {
            return false;
        }
    }
    return show(acting);
}

}  // namespace rate_limit
