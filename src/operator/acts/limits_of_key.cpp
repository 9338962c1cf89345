#include "operator/acts/limits_of_key.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/machine/records/penalty.h"
#include "limiter/client_id.h"
#include "limiter/overrides/effect.h"
#include "limiter/zone.h"
#include "operator/acts/acting.h"
#include "operator/figures/document.h"

namespace rate_limit {

namespace {

/// Adds a window of this rate, or a bucket where `burst` is not 0; or raises the limit of the one that has
/// this period and kind.
void add_window(KeyOfLimit& to, const Limit& limit, const Rate& rate, std::int64_t burst) {
    const bool counts_tokens = burst != 0;
    const std::optional<Bucket> bucket =
        counts_tokens && rate.limit != 0 ? Bucket::of(rate, burst) : std::nullopt;
    if (counts_tokens && !bucket) {
        return;  // no bucket has such a rate
    }
    const WindowKind kind = limit.kind_at(rate, counts_tokens);
    const auto same = std::find_if(to.windows.begin(), to.windows.end(), [&](const auto& window) {
        return window->rate.period == rate.period && window->kind == kind;
    });
    if (same != to.windows.end()) {
        AskedWindow& window = **same;
        window.rate.limit = std::max(window.rate.limit, rate.limit);
        window.bucket = bucket && bucket->burst() > window.bucket->burst() ? bucket : window.bucket;
        return;
    }
    to.windows.push_back(std::make_unique<AskedWindow>());
    static_cast<KeyWindow&>(*to.windows.back()) = {rate, bucket, kind, &limit.named_at(counts_tokens), {}};
}

/// Adds what the limit has at this rate: one bucket, or windows; or, where a variable says the burst, windows
/// and the greatest bucket that was seen.
void add_windows_at(KeyOfLimit& to, const Zone& zone, const Limit& limit, const Rate& rate) {
    add_window(to, limit, rate, limit.burst);
    if (!limit.variable_burst) {
        return;
    }
    for (const Rate& seen : zone.seen_rates().read(name_of_bursts(to.tally.digest))) {
        if (seen.limit != 0 && same_period(seen, rate)) {
            add_window(to, limit, rate, seen.limit);
        }
    }
}

/// In the order of their lines: there may be many, and each tally concerns few.
LimitWalk::LimitsByName by_name(const Configuration& main) {
    LimitWalk::LimitsByName named;
    for (const Limit* limit : main.limits) {
        named[limit->name].push_back(limit);
    }
    return named;
}

void add_windows(KeyOfLimit& to, const Configuration& main, const LimitWalk::LimitsByName& named) {
    const auto found = named.find(to.tally.name);
    if (found == named.end()) {
        return;
    }
    for (const Limit* limit : found->second) {
        if (!to.tally.is_of(*limit)) {
            continue;
        }
        if (!limit->variable_rate) {
            add_windows_at(to, *main.zone, *limit, limit->rate);
            continue;
        }
        for (const Rate& rate : main.zone->seen_rates().read(to.tally.digest)) {
            if (rate.limit != 0) {
                add_windows_at(to, *main.zone, *limit, rate);
            }
        }
    }
}

/// False without memory.
bool locate_windows(Acting& acting, KeyOfLimit& of) {
    Zone& zone = *acting.main().zone;
    StoreConf* store = find_store(acting.main(), of.tally.store_name);
    StoredKey key;
    if (!key.take(store, acting.key())) {
        return false;
    }
    of.id = client_id(zone, of.tally.store_name, of.tally.name, key.text());
    return of.id != 0 && std::all_of(of.windows.begin(), of.windows.end(), [&](const auto& window) {
               const WindowIdentity identity{
                   of.tally.name, window->rate.period, window->kind, acting.key(), {}};
               RequestMemory& memory = acting.poster().memory();
               if (locate(memory, zone, store, identity, window->place) != nullptr) {
                   return false;
               }
               const bool has_regions = store != nullptr && store->has_regions();
               if (has_regions) {
                   window->elsewhere =
                       locate_elsewhere(memory, zone, window->place, window->rate, window->kind);
               }
               return !has_regions || window->elsewhere != nullptr;
           });
}

bool is_meant(const Acting& acting, const Tally& tally) noexcept {
    return tally.store_name != Tallies::no_store &&
           (acting.limit().empty() || acting.limit() == tally.name) &&
           (acting.store().empty() || acting.store() == tally.store_name);
}

Remembered remembered(const AskedWindow& asked, Zone& zone, Millis now) {
    return asked.named->records.remembered(asked, zone.windows().find(asked.place.id).value_or(Record{}),
                                           now);
}

/// The use of other regions takes from the limit, too. A region that has not answered is as this machine
/// remembers it.
void add_regions(SeenWindow& window, const AskedWindow& asked) {
    const Millis now = now_millis();
    const StoreConf& here = asked.place.store->conf();
    window.regions.push_back({here.region, window.used, true, true});
    for (RegionPart& part : *asked.elsewhere) {
        part.answered = part.read.failure() == nullptr;
        const Window there = part.window.seen(part.told(), now);
        const std::int64_t used = std::max<std::int64_t>(0, there.used);
        window.regions.push_back({part.store->conf().region, used, false, part.answered});
        window.used = add_used(window.used, used);
        if (used != 0) {
            window.reset = std::max(window.reset, there.reset);
            window.open = true;
        }
    }
    window.remaining = std::max<std::int64_t>(0, window.rate.limit - window.used);
}

SeenWindow seen(const AskedWindow& asked, Zone& zone) {
    const Millis now = now_millis();
    SeenWindow window;
    window.rate = asked.rate;
    window.rate.limit = asked.limit();
    window.kind = asked.named;
    window.open = asked.is_open(asked.window, now);
    window.used = window.open ? std::max<std::int64_t>(0, asked.window.used) : 0;
    window.remaining = std::max<std::int64_t>(0, window.rate.limit - window.used);
    window.reset = window.open ? asked.window.reset : 0;
    window.from_primary = asked.place.store != nullptr;
    const Remembered here = remembered(asked, zone, now);
    window.in_flight = here.in_flight;
    const auto penalty = zone.windows().find<PenaltyRecord>(penalty_id_of(asked.place.id));
    window.penalized = penalty && runs(*penalty, now);
    window.tokens = here.tokens;
    if (asked.place.store != nullptr) {
        window.waiting = asked.cost_of(asked.shard().charges().waiting_for(asked.place.id));
        if (asked.elsewhere != nullptr) {
            add_regions(window, asked);
        }
    }
    return window;
}

SeenSlots seen_slots(const AskedWindow& asked, Zone& zone) {
    const auto record = zone.windows().find<SlotsRecord>(asked.place.id).value_or(SlotsRecord{});
    SeenSlots slots;
    slots.limit = asked.rate.limit;
    slots.running = running(record);
    slots.shared = asked.place.store != nullptr;
    slots.here = asked.read.held().mine;
    slots.elsewhere = asked.read.held().others;
    slots.remaining = std::max<std::int64_t>(0, slots.limit - slots.running - slots.elsewhere);
    return slots;
}

bool has_something(const SeenWindow& window) noexcept {
    return window.open || window.in_flight != 0 || window.tokens != 0 || window.waiting != 0 ||
           window.penalized;
}

bool has_changed_one(const Acting& acting) noexcept {
    return std::any_of(acting.limits.begin(), acting.limits.end(), [](const auto& limit) {
        return std::any_of(limit->windows.begin(), limit->windows.end(),
                           [](const auto& window) { return window->changed; });
    });
}

LimitWalk::OverridesBySubject by_subject(const Configuration& main) {
    LimitWalk::OverridesBySubject all;
    if (main.tallies != nullptr && !main.overrides->none()) {
        for (const Override& what : main.zone->overrides().read(now_millis())) {
            all.emplace(what.subject, what);
        }
    }
    return all;
}

/// The override of the key, or else of the limit.
std::optional<Override> override_of(const LimitWalk::OverridesBySubject& all, const KeyOfLimit& limit) {
    auto found = all.find({limit.tally.digest, limit.id});
    if (found == all.end()) {
        found = all.find({limit.tally.digest, 0});
    }
    return found != all.end() ? std::optional(found->second) : std::nullopt;
}

/// How far it has come; Acting::step.
enum LookUpStep : int { finding, asking, answering, showing };

/// Takes what the primaries have answered of the limit's windows. Not null: why one has not.
const char* take_of(const KeyOfLimit& limit) {
    const Millis now = now_millis();
    for (const auto& window : limit.windows) {
        if (window->place.store == nullptr) {
            continue;
        }
        const Answer& answer = window->read;
        if (answer.failure() != nullptr) {
            return answer.failure();
        }
        window->window = window->named->records.shown(*window, answer.window(), now);
    }
    return nullptr;
}

}  // namespace

bool go_over(Acting& acting, bool (*one)(Acting&), const Turn& turn) {
    while (one(acting)) {
        if (turn.spent()) {
            acting.rest();
            return false;
        }
    }
    return true;
}

bool find_next_limit(Acting& acting) {
    LimitWalk& walk = acting.walk;
    const Configuration& main = acting.main();
    if (main.tallies == nullptr) {
        return false;
    }
    if (walk.next == 0) {
        walk.named = by_name(main);
    }
    const auto& tallies = main.tallies->all();
    while (walk.next < tallies.size() && !is_meant(acting, tallies[walk.next])) {
        ++walk.next;
    }
    if (walk.next >= tallies.size()) {
        walk.next = 0;
        return false;
    }
    acting.limits.push_back(
        std::make_unique<KeyOfLimit>(KeyOfLimit{tallies[walk.next++], acting.id(), {}, false, {}, {}}));
    if (!acting.key().empty()) {
        add_windows(*acting.limits.back(), main, walk.named);
        if (!locate_windows(acting, *acting.limits.back())) {
            throw std::bad_alloc();
        }
    }
    return true;
}

bool find_limits(Acting& acting) {
    acting.limits.clear();
    while (find_next_limit(acting)) {
    }
    return check_found(acting);
}

bool check_found(Acting& acting) {
    if (acting.limits.empty() && !(acting.limit().empty() && acting.store().empty())) {
        acting.fail(ActError::unknown_limit, "No limit of this name is configured in this store.");
        return false;
    }
    if (acting.limits.size() > 1 && !acting.limit().empty()) {
        acting.fail(ActError::ambiguous, "The limit is in several stores: name one by \"store\".");
        return false;
    }
    return true;
}

void ask_regions(Acting& acting, AskedWindow& window) {
    if (window.elsewhere == nullptr) {
        return;
    }
    for (RegionPart& part : *window.elsewhere) {
        part.asked = &part.read;
        part.read.start(part.store->at(window.place.route), window.place.key, Read::From::any_node,
                        acting.expect_answer());
    }
}

bool ask_next_limit(Acting& acting) {
    LimitWalk& walk = acting.walk;
    if (walk.next >= acting.limits.size()) {
        walk.next = 0;
        return false;
    }
    for (const auto& window : acting.limits[walk.next]->windows) {
        if (window->place.store == nullptr) {
            window->window = remembered(*window, *acting.main().zone, now_millis()).window;
            continue;
        }
        Shard& shard = window->shard();
        shard.charges().go_before(window->place.id);
        window->read.start(shard, window->place.key, Read::From::primary, acting.expect_answer(),
                           window->read_as());
        ask_regions(acting, *window);
    }
    ++walk.next;
    return true;
}

void ask_primaries(Acting& acting) {
    while (ask_next_limit(acting)) {
    }
}

bool take_answers(Acting& acting) {
    for (const auto& limit : acting.limits) {
        if (const char* const failure = take_of(*limit)) {
            fail_undone(acting, ActError::store_unavailable,
                        "The store \"" + std::string(limit->tally.store_name) +
                            "\" cannot be asked: " + failure + ".");
            return false;
        }
    }
    return true;
}

void take_what_is_answered(Acting& acting) {
    for (const auto& limit : acting.limits) {
        if (take_of(*limit) != nullptr) {
            limit->windows.clear();
            limit->away = true;
        }
    }
}

void fail_undone(Acting& acting, ActError error, const std::string& why) {
    if (has_changed_one(acting)) {
        acting.fail(ActError::in_doubt,
                    why + " It was done, or may have been, to some of the windows: look the key up.");
    } else {
        acting.fail(error, why + " Nothing was done.");
    }
}

bool is_there(const Acting& acting, const AskedWindow& window) {
    return has_something(seen(window, *acting.main().zone));
}

bool show_next_limit(Acting& acting) {
    LimitWalk& walk = acting.walk;
    if (walk.next == 0) {
        acting.result = {};
        acting.result.named = acting.is_named();
        walk.overrides = by_subject(acting.main());
    }
    if (walk.next >= acting.limits.size()) {
        walk.next = 0;
        return false;
    }
    const KeyOfLimit& limit = *acting.limits[walk.next++];
    SeenLimit shown;
    shown.limit = limit.tally.name;
    shown.store = limit.tally.store_name;
    if (acting.is_of_key()) {
        shown.id = limit.id;
        acting.main().zone->looked_up().note(limit.id, limit.tally.digest);
    }
    if (!acting.key().empty() && acting.rights().plain_keys) {
        shown.key = acting.key();
    }
    shown.override = override_of(walk.overrides, limit);
    shown.before = limit.before;
    shown.on = limit.on;
    if (acting.id() != 0) {
        shown.known = SeenLimit::Known::unkept;
    } else if (acting.key().empty()) {
        shown.known = SeenLimit::Known::no_key;
    } else if (limit.away) {
        shown.known = SeenLimit::Known::away;
    }
    for (const auto& asked : limit.windows) {
        if (!asked->named->is_spent) {
            shown.slots = limit.away ? std::nullopt : std::optional(seen_slots(*asked, *acting.main().zone));
            continue;
        }
        const SeenWindow window = seen(*asked, *acting.main().zone);
        if (has_something(window)) {
            shown.windows.push_back(window);
        }
    }
    acting.result.limits.push_back(std::move(shown));
    return true;
}

void show_limits(Acting& acting) {
    while (show_next_limit(acting)) {
    }
}

bool look_up(Acting& acting) {
    const Turn turn;
    if (acting.step == finding) {
        if (!go_over(acting, find_next_limit, turn)) {
            return false;
        }
        if (!check_found(acting)) {
            return true;
        }
        acting.step = asking;
    }
    if (acting.step == asking) {
        if (!go_over(acting, ask_next_limit, turn)) {
            return false;
        }
        acting.step = answering;
    }
    if (acting.step == answering) {
        if (acting.waiting()) {
            return false;
        }
        if (!take_answers(acting)) {
            return true;
        }
        acting.step = showing;
    }
    return go_over(acting, show_next_limit, turn);
}

}  // namespace rate_limit
