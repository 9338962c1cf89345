#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "core/decimal.h"
#include "core/overrides/override.h"
#include "core/text/figure_text.h"
#include "limiter/overrides/effect.h"
#include "limiter/overrides/shared_change.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"
#include "operator/acts/acting.h"
#include "operator/acts/limits_of_key.h"

namespace rate_limit {

namespace {

constexpr std::int64_t usual_time = 3600;
constexpr std::int64_t longest_time = std::int64_t{30} * 24 * 3600;

/// How far it has come; Acting::step.
enum OverrideStep : int {
    not_asked,
    sharing,  ///< the store is told
    looking,
};

bool parse_for(const Acting& acting, std::int64_t& seconds) noexcept {
    const std::string* text = acting.form().find("for");
    seconds = text != nullptr ? parse_seconds(*text).value_or(0) : usual_time;
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
    for (const Override& what : acting.main().zone->overrides().read(now_millis())) {
        if (what.subject == subject_of(acting)) {
            return what;
        }
    }
    return std::nullopt;
}

/// Logs what was and what is, or in doubt is.
void log_change(const Acting& acting, const std::optional<Override>& before,
                const std::optional<Override>& after, const char* doubt = "") {
    const Millis now = now_millis();
    log_act(acting, subject_of(acting).key,
            "override: " + describe(after, now) + doubt + ", before: " + describe(before, now));
}

/// Reads an override of this kind from the fields, for the limit that they name. False: the act has failed.
bool read_fields(Acting& acting, OverrideKind kind, Override& what) {
    std::int64_t seconds = 0;
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
        (!parse_digits(acting.form().value("percent"), percent) || percent > 100)) {
        acting.fail(ActError::bad_parameter, "The field \"percent\" is a number from 0 to 100.");
        return false;
    }
    what.subject = subject_of(acting);
    what.kind = kind;
    what.percent = static_cast<std::uint8_t>(percent);
    what.from = now_millis();
    what.until = what.from + static_cast<Millis>(seconds) * 1000;
    what.by = acting.poster().address();
    what.text = acting.rights().plain_keys ? acting.key() : "";
    return true;
}

/// Sets `what` on this machine, or where there is none ends the override. False: the act has failed.
bool change_here(Acting& acting, const std::optional<Override>& what) {
    const std::optional<Override> before = find_override(acting);
    OverrideTable& table = acting.main().zone->overrides();
    if (!what) {
        (void)table.remove(subject_of(acting), now_millis());
    } else if (!table.put(*what, now_millis())) {
        acting.fail(ActError::full, "There are " + std::to_string(table.capacity()) +
                                        " overrides, and no room for more: end one by \"clear\".");
        return false;
    }
    log_change(acting, before, what);
    return true;
}

/// The store of the limit, if machines share its overrides; else null.
const StoreConf* sharing_store(const Acting& acting) noexcept {
    const StoreConf* store = find_store(acting.main(), acting.limits.front()->tally.store_name);
    return store != nullptr && store->shares_overrides ? store : nullptr;
}

/// Tells the store: sets `what`, or where there is none ends the override that the act is about. False: the
/// act has failed.
bool share(Acting& acting, const StoreConf& store, const std::optional<Override>& what) {
    SharedSubject subject;
    subject.limit = acting.limits.front()->tally.name;
    StoredKey key;
    if (!key.take(&store, acting.key())) {
        return false;
    }
    if (!acting.key().empty()) {
        subject.key = key.text();
        subject.digested = key.digested();
    }
    Override wanted = what.value_or(Override());
    wanted.subject = subject_of(acting);
    acting.before = find_override(acting);
    acting.step = sharing;
    acting.shared = std::make_unique<SharedChange>();
    return acting.shared->start(store, wanted, write_field(subject), acting.expect_answer());
}

/// The store has answered. False: the act has failed.
bool take_shared(Acting& acting) {
    const SharedChange& shared = *acting.shared;
    const std::string why = shared.failure() != nullptr ? shared.failure() : "";
    switch (shared.trouble()) {
        case SharedChange::Trouble::none:
            break;
        case SharedChange::Trouble::full:
            acting.fail(
                ActError::full,
                "There are as many overrides, in this store or on this machine, as there can be: end one by "
                "\"clear\".");
            return false;
        case SharedChange::Trouble::in_doubt:
            log_change(acting, acting.before, shared.clears() ? std::nullopt : std::optional(shared.wanted()),
                       ", in doubt whether it was done");
            acting.fail(ActError::in_doubt, "The primary was told, and did not say that it was done: " + why +
                                                ". It is not told again: look it up.");
            return false;
        default:
            acting.fail(ActError::store_unavailable,
                        "The overrides of this store cannot be changed: " + why + ". Nothing was done.");
            return false;
    }
    if (shared.clears()) {  // an override of this machine alone goes, too
        (void)acting.main().zone->overrides().remove(subject_of(acting), now_millis());
    }
    log_change(acting, acting.before, find_override(acting));
    return true;
}

/// Sets `what`, or where there is none ends the override, here or on all machines of the store. False: it
/// waits, or the act has failed.
bool change(Acting& acting, const std::optional<Override>& what) {
    if (const StoreConf* store = sharing_store(acting)) {
        if (!share(acting, *store, what)) {
            throw std::bad_alloc();
        }
        return !acting.waiting() && take_shared(acting);
    }
    return change_here(acting, what);
}

/// Windows that no primary tells are shown as none: the act is done all the same.
void show(Acting& acting) {
    if (!take_answers(acting)) {
        for (const auto& limit : acting.limits) {
            limit->windows.clear();
            limit->away = true;
        }
    }
    show_limits(acting);
}

}  // namespace

/// No override is called `clear`.
bool change_override(Acting& acting) {
    if (acting.step == not_asked) {
        const OverrideKind kind = override_kind(acting.form().value("do"));
        Override what;
        if (!find_limits(acting) || (kind != OverrideKind::none && !read_fields(acting, kind, what)) ||
            !change(acting, kind != OverrideKind::none ? std::optional(what) : std::nullopt)) {
            return !acting.waiting();
        }
    } else if (acting.step == sharing && !take_shared(acting)) {
        return true;
    }
    if (acting.step != looking) {  // it is done
        acting.step = looking;
        ask_primaries(acting);
        if (acting.waiting()) {
            return false;
        }
    }
    show(acting);
    return true;
}

}  // namespace rate_limit
