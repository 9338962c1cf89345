#include "limiter/overrides/shared_overrides.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "core/digits.h"
#include "limiter/client_id.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "redis/reply.h"

namespace rate_limit {

namespace {

/// The name by which the shard is chosen, and the end of the key.
constexpr std::string_view name_of_key = "!overrides";

/// Values that SharedState::tell() remembers beside reasons: all is well, and the zone has too little room.
constexpr std::uint32_t told_nothing = 0;
constexpr std::uint32_t told_full = 1;

LockUser this_user() noexcept {
    return lock_user();
}

Override of_machine(const StoreConf& store, const SharedOverride& shared) {
    Override what;
    what.subject.limit = limit_digest(store.name, shared.limit);
    what.subject.key = shared.key.empty() ? 0 : client_id(*store.zone, store.name, shared.limit, shared.key);
    what.store = xxh64(store.name, 0);
    what.kind = shared.kind;
    what.scope = OverrideScope::shared;
    what.percent = shared.percent;
    what.from = shared.from;
    what.until = shared.until;
    what.by = shared.by;
    const Configuration* const at_work = configuration_at_work();
    what.text = at_work != nullptr && at_work->plain_keys && !shared.digested ? shared.key : "";
    return what;
}

/// The limits that this machine has, by what the zone knows them by; none, where a reload without a master
/// process has left it without http.
std::unordered_set<std::uint64_t> limits_here() {
    std::unordered_set<std::uint64_t> digests;
    const Configuration* const at_work = configuration_at_work();
    if (at_work == nullptr || at_work->tallies == nullptr) {
        return digests;
    }
    for (const Tally& tally : at_work->tallies->all()) {
        digests.insert(tally.digest);
    }
    return digests;
}

void tell_full(const StoreConf& store, std::size_t left) noexcept {
    if (store.shared_overrides->tell(told_full)) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: %zu overrides that machines share by \"rate_limit_redis %s\" do not hold here: "
                 "there is no room for them",
                 left, store.name.c_str());
    }
}

}  // namespace

std::string overrides_key(const StoreConf& store) {
    return store.prefix + std::string(name_of_key);
}

Shard* shard_of_overrides(const StoreConf& store) noexcept {
    try {
        Store* live = live_store(store);
        return live != nullptr ? &live->at(live->route_of(name_of_key, overrides_key(store))) : nullptr;
    } catch (...) {
        return nullptr;
    }
}

bool read_overrides(const Reply& reply, SharedOverrides& shared) {
    if (reply.is_error() || reply.tree == nullptr || reply.tree->root().count() != 2) {
        return false;
    }
    const TreeReply::Value version = *reply.tree->root().begin();
    const TreeReply::Value text = *++reply.tree->root().begin();
    shared.raw_version = version.text();
    shared.text = text.text();
    shared.absent = version.is_nil() && text.is_nil();
    if (!parse_digits(shared.raw_version, shared.version) || shared.version == 0 ||
        shared.version >= SharedOverrides::end_of_versions) {
        shared.version = 0;
        shared.error = SharedTextError::garbage;
        return true;
    }
    shared.error = text.is_text() ? read_shared_text(shared.text, shared.all) : SharedTextError::garbage;
    return true;
}

void take_up(const StoreConf& store, const SharedOverrides& shared) {
    SharedState& state = *store.shared_overrides;
    const Millis now = now_millis();
    if (is_leaving() || !state.is_news(shared.version, now)) {
        return;
    }
    const std::unordered_set<std::uint64_t> here = limits_here();
    std::vector<Override> all;
    all.reserve(shared.all.size());
    for (const SharedOverride& what : shared.all) {
        if (here.count(limit_digest(store.name, what.limit)) != 0) {
            all.push_back(of_machine(store, what));
        }
    }
    const std::size_t left = store.zone->overrides().put_shared(xxh64(store.name, 0), all, now);
    state.take(shared.version, shared.text, now, this_user());
    if (left != 0) {
        tell_full(store, left);
    } else {
        state.tell(told_nothing);
    }
}

void take_own(const StoreConf& store, const SharedOverride& what, bool ended) {
    const Override own = of_machine(store, what);
    OverrideTable& table = store.zone->overrides();
    // There was room for it when it was written, or workers of the configuration at work take it up.
    (void)(ended ? table.remove(own.subject, now_millis()) : table.put(own, now_millis()));
}

std::optional<std::vector<SharedOverride>> last_good(const StoreConf& store) {
    std::vector<SharedOverride> all;
    if (read_shared_text(store.shared_overrides->last_good(this_user()), all) != SharedTextError::none) {
        return std::nullopt;
    }
    const Millis now = now_millis();
    all.erase(std::remove_if(all.begin(), all.end(),
                             [now](const SharedOverride& what) { return what.until <= now; }),
              all.end());
    return all;
}

bool has_room(const StoreConf& store, const std::vector<SharedOverride>& all, const SharedOverride& what) {
    std::unordered_set<OverrideSubject, HashOfSubject> subjects;
    const std::unordered_set<std::uint64_t> here = limits_here();
    for (const SharedOverride& each : all) {
        if (here.count(limit_digest(store.name, each.limit)) != 0) {
            subjects.insert(of_machine(store, each).subject);
        }
    }
    const OverrideSubject wanted = of_machine(store, what).subject;
    const OverrideTable& table = store.zone->overrides();
    const std::uint64_t digest = xxh64(store.name, 0);
    for (const Override& there : table.read(now_millis())) {
        if (there.subject == wanted) {
            return true;
        }
        if (there.scope != OverrideScope::shared || there.store != digest) {
            subjects.insert(there.subject);
        }
    }
    return subjects.size() <= table.capacity();
}

void tell_unusable(const StoreConf& store, const char* reason, Remedy remedy) noexcept {
    const auto word = static_cast<std::uint32_t>(xxh64(reason, 0)) | 2U;
    if (store.shared_overrides->tell(word)) {
        log_line(process_log(), LogLevel::error,
                 "rate limit: the overrides at \"%s!overrides\" of \"rate_limit_redis %s\" are %s: those "
                 "that were known hold until they end; %s",
                 store.prefix.c_str(), store.name.c_str(), reason,
                 remedy == Remedy::change ? "the next one that is set replaces what is there"
                                          : "none can be set until you delete that key in Redis");
    }
}

}  // namespace rate_limit
