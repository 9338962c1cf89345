#include <algorithm>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/decimal.h"
#include "core/overrides/override.h"
#include "core/text/figure_text.h"
#include "limiter/overrides/effect.h"
#include "limiter/overrides/shared_change.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"
#include "operator/acts/acting.h"
#include "operator/acts/limits_of_key.h"
#include "operator/figures/document.h"

namespace rate_limit {

namespace {

constexpr std::int64_t usual_time = 3600;
constexpr std::int64_t longest_time = std::int64_t{30} * 24 * 3600;

/// How far it has come; Acting::step.
enum OverrideStep : int { unread, finding_all, changing, looking, awaiting, telling };

/// The most limits that an error names.
constexpr std::size_t most_named = 3;

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
OverrideSubject subject_of(const KeyOfLimit& limit) noexcept {
    return {limit.tally.digest, limit.id};
}

std::optional<Override> find_override(const Acting& acting, const KeyOfLimit& limit) {
    for (const Override& what : acting.main().zone->overrides().read(now_millis())) {
        if (what.subject == subject_of(limit)) {
            return what;
        }
    }
    return std::nullopt;
}

bool clears(const Acting& acting) noexcept {
    return acting.wanted.kind == OverrideKind::none;
}

/// The override of this limit as the act wants it; empty: there shall be none.
std::optional<Override> wanted_of(const Acting& acting, const KeyOfLimit& limit) {
    if (clears(acting)) {
        return std::nullopt;
    }
    Override what = acting.wanted;
    what.subject = subject_of(limit);
    return what;
}

/// The store of the limit, if machines share its overrides; else null.
const StoreConf* sharing_store(const Acting& acting, const KeyOfLimit& limit) noexcept {
    const StoreConf* store = find_store(acting.main(), limit.tally.store_name);
    return store != nullptr && store->shares_overrides ? store : nullptr;
}

/// Logs what was and what is, or in doubt is.
void log_change(const Acting& acting, const KeyOfLimit& limit, const std::optional<Override>& after,
                const char* doubt = "") {
    const Millis now = now_millis();
    const bool alone = acting.is_here_alone() && sharing_store(acting, limit) != nullptr;
    log_act(acting, limit,
            "override: " + describe(after, now) + doubt + ", before: " + describe(limit.before, now) +
                (alone ? ", on this machine alone" : ""));
}

/// Reads the override from the fields. False: the act has failed.
bool read_fields(Acting& acting) {
    Override& what = acting.wanted;
    what.kind = override_kind(acting.form().value("do"));  // no override is called `clear`
    if (clears(acting)) {
        return true;
    }
    std::int64_t seconds = 0;
    std::int64_t percent = 0;
    if (!is_of_key(what.kind) && acting.is_of_key()) {
        acting.fail(ActError::bad_parameter, "\"" + std::string(to_string(what.kind)) +
                                                 "\" is of a whole limit: leave \"key\" and \"id\" empty.");
        return false;
    }
    if (!parse_for(acting, seconds)) {
        acting.fail(ActError::bad_parameter, "The field \"for\" is a time from 1s to 30d, such as 10m.");
        return false;
    }
    if (what.kind == OverrideKind::enforce &&
        (!parse_digits(acting.form().value("percent"), percent) || percent > 100)) {
        acting.fail(ActError::bad_parameter, "The field \"percent\" is a number from 0 to 100.");
        return false;
    }
    what.percent = static_cast<std::uint8_t>(percent);
    what.from = now_millis();
    what.until = what.from + static_cast<Millis>(seconds) * 1000;
    what.by = acting.poster().address();
    what.reason = acting.form().value("reason");
    what.text = acting.rights().plain_keys ? acting.key() : "";
    return true;
}

/// Whether this machine has room for all that the act of several limits sets: else it sets none.
bool has_room(const Acting& acting) {
    const OverrideTable& table = acting.main().zone->overrides();
    const Millis now = now_millis();
    if (clears(acting) || acting.limits.size() < 2) {
        return true;
    }
    std::size_t used = acting.limits.size();
    for (const Override& there : table.read(now)) {
        used += std::none_of(acting.limits.begin(), acting.limits.end(),
                             [&](const auto& limit) { return subject_of(*limit) == there.subject; })
                    ? 1
                    : 0;
    }
    return used <= table.capacity();
}

std::string no_room(const Acting& acting) {
    return "There are " + std::to_string(acting.main().zone->overrides().capacity()) +
           " overrides, and no room for more: end one by \"clear\".";
}

/// All limits that the act is about are found. False: it has failed.
bool check_limits(Acting& acting) {
    if (!check_found(acting)) {
        return false;
    }
    if (acting.limits.empty()) {
        acting.fail(ActError::unknown_limit, "No limit is configured.");
        return false;
    }
    if (!has_room(acting)) {
        acting.fail(ActError::full, no_room(acting) + " Nothing was done.");
        return false;
    }
    return true;
}

void note_unchanged(Acting& acting, const KeyOfLimit& limit, ActError error, std::string why) {
    acting.unchanged.push_back({&limit, error, std::move(why)});
}

/// Sets the override on this machine, or ends it.
void change_here(Acting& acting, KeyOfLimit& limit) {
    const std::optional<Override> what = wanted_of(acting, limit);
    OverrideTable& table = acting.main().zone->overrides();
    if (!what) {
        (void)table.remove(subject_of(limit), now_millis());
    } else if (!table.put(*what, now_millis())) {
        note_unchanged(acting, limit, ActError::full, no_room(acting));
        return;
    }
    limit.on = OverrideScope::machine;
    log_change(acting, limit, what);
}

/// The field by which machines tell one another of the key as it reaches Redis. An id alone finds it where
/// machines share an override of it already. Empty: it is not known.
std::optional<std::string> shared_field(const Acting& acting, const KeyOfLimit& limit,
                                        const StoreConf& store) {
    SharedSubject subject;
    subject.limit = limit.tally.name;
    if (acting.id() != 0) {
        const auto there =
            limit.before ? acting.main().zone->overrides().read_shared(limit.before->store, now_millis())
                         : std::vector<Override>();
        const auto own = std::find_if(there.begin(), there.end(), [&](const Override& what) {
            return what.subject == subject_of(limit) && !what.text.is_cut();
        });
        if (own == there.end()) {
            return std::nullopt;
        }
        subject.key = own->text;
        subject.digested = own->digested;
        return write_field(subject);
    }
    StoredKey key;
    if (!key.take(&store, acting.key())) {
        throw std::bad_alloc();
    }
    if (!acting.key().empty()) {
        subject.key = key.text();
        subject.digested = key.digested();
    }
    return write_field(subject);
}

/// A store that has not answered for one limit is not asked for others.
bool has_failed(Acting& acting, const KeyOfLimit& limit) {
    const auto& all = acting.unchanged;
    const auto found = std::find_if(all.begin(), all.end(), [&](const Unchanged& one) {
        return one.error != ActError::full && one.limit->tally.store_name == limit.tally.store_name;
    });
    if (found == all.end()) {
        return false;
    }
    note_unchanged(acting, limit, ActError::store_unavailable, found->why);
    return true;
}

/// Tells the store: sets the override, or ends it.
void share_override(Acting& acting, KeyOfLimit& limit, const StoreConf& store) {
    const std::optional<std::string> field = shared_field(acting, limit, store);
    if (!field) {
        note_unchanged(
            acting, limit, ActError::bad_parameter,
            "Machines share the overrides of this store by keys, and this machine does not keep the "
            "key of the id: name it by \"key\", or act on this machine alone by \"on=machine\".");
        return;
    }
    Override wanted = wanted_of(acting, limit).value_or(Override());
    wanted.subject = subject_of(limit);
    acting.shared = std::make_unique<SharedChange>();
    if (!acting.shared->start(store, wanted, *field, acting.expect_answer())) {
        throw std::bad_alloc();
    }
}

/// The store has answered.
void take_shared(Acting& acting, KeyOfLimit& limit) {
    const SharedChange& shared = *acting.shared;
    const std::string why = shared.failure() != nullptr ? shared.failure() : "";
    switch (shared.trouble()) {
        case SharedChange::Trouble::none:
            break;
        case SharedChange::Trouble::full:
            note_unchanged(
                acting, limit, ActError::full,
                "There are as many overrides, in this store or on this machine, as there can be: end one by "
                "\"clear\".");
            return;
        case SharedChange::Trouble::in_doubt:
            log_change(acting, limit, shared.clears() ? std::nullopt : std::optional(shared.wanted()),
                       ", in doubt whether it was done");
            note_unchanged(acting, limit, ActError::in_doubt,
                           "The primary was told, and did not say that it was done: " + why +
                               ". It is not told again: look it up.");
            return;
        default:
            note_unchanged(acting, limit, ActError::store_unavailable,
                           "The overrides of this store cannot be changed: " + why +
                               ". Nothing was done; \"on=machine\" acts on this machine alone.");
            return;
    }
    if (shared.clears()) {  // an override of this machine alone goes, too
        (void)acting.main().zone->overrides().remove(subject_of(limit), now_millis());
    }
    limit.on = OverrideScope::shared;
    log_change(acting, limit, find_override(acting, limit));
}

void begin_change(Acting& acting, KeyOfLimit& limit) {
    limit.before = find_override(acting, limit);
    const StoreConf* store = acting.is_here_alone() ? nullptr : sharing_store(acting, limit);
    if (store == nullptr) {
        change_here(acting, limit);
    } else if (!has_failed(acting, limit)) {
        share_override(acting, limit, *store);
    }
}

/// Changes the overrides of the limits, one after the other, here or on all machines of their stores. False:
/// more of them are left, and it waits or rests.
bool change_all(Acting& acting, const Turn& turn) {
    std::size_t& next = acting.walk.next;
    while (next < acting.limits.size()) {
        KeyOfLimit& limit = *acting.limits[next];
        if (acting.shared == nullptr) {
            begin_change(acting, limit);
        }
        if (acting.waiting()) {
            return false;
        }
        if (acting.shared != nullptr) {
            take_shared(acting, limit);
            acting.shared.reset();
        }
        ++next;
        if (turn.spent()) {
            acting.rest();
            return false;
        }
    }
    next = 0;
    return true;
}

/// False: some limits are not changed, and the act has failed.
bool check_changed(Acting& acting) {
    const auto& unchanged = acting.unchanged;
    if (unchanged.empty()) {
        return true;
    }
    const Unchanged& first = unchanged.front();
    if (acting.limits.size() == 1) {
        acting.fail(first.error, first.why);
        return false;
    }
    const bool none = unchanged.size() == acting.limits.size() &&
                      std::none_of(unchanged.begin(), unchanged.end(),
                                   [](const Unchanged& one) { return one.error == ActError::in_doubt; });
    std::string text = none ? "It was done for no limit:"
                            : "It was done for " + std::to_string(acting.limits.size() - unchanged.size()) +
                                  " of " + counted(acting.limits.size(), "limit") +
                                  "; for the others not, or in doubt:";
    for (std::size_t i = 0; i < std::min(unchanged.size(), most_named); ++i) {
        const Tally& of = unchanged[i].limit->tally;
        text.append(i == 0 ? " \"" : ", \"")
            .append(of.name)
            .append("\" of \"")
            .append(of.store_name)
            .append("\"");
    }
    text += unchanged.size() > most_named ? " and more. " : ". ";
    acting.fail(none ? first.error : ActError::in_doubt, text + first.why);
    return false;
}

/// Shows what is there after the act. Windows that no primary tells are shown as none: the act is done all
/// the same. False: it waits or rests.
bool show(Acting& acting, const Turn& turn) {
    if (acting.step == looking) {
        if (!go_over(acting, ask_next_limit, turn)) {
            return false;
        }
        acting.step = awaiting;
    }
    if (acting.step == awaiting) {
        if (acting.waiting()) {
            return false;
        }
        take_what_is_answered(acting);
        acting.step = telling;
    }
    return go_over(acting, show_next_limit, turn);
}

}  // namespace

bool change_override(Acting& acting) {
    const Turn turn;
    if (acting.step == unread) {
        if (!read_fields(acting)) {
            return true;
        }
        acting.step = finding_all;
    }
    const bool asks = acting.form().find("ask") != nullptr;
    if (acting.step == finding_all) {
        if (!go_over(acting, find_next_limit, turn)) {
            return false;
        }
        if (!check_limits(acting)) {
            return true;
        }
        acting.step = asks ? looking : changing;
    }
    if (acting.step == changing) {
        if (!change_all(acting, turn)) {
            return false;
        }
        if (!check_changed(acting)) {
            return true;
        }
        acting.step = looking;
    }
    if (!show(acting, turn)) {
        return false;
    }
    acting.result.asks = asks;
    return true;
}

}  // namespace rate_limit
