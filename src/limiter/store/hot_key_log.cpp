#include "limiter/store/hot_key_log.h"

#include <algorithm>
#include <cinttypes>
#include <string_view>

#include "core/counts/hot_keys.h"
#include "limiter/configuration.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/zone.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

namespace {

constexpr std::uint64_t least_commands = 10'000;  // in a minute
constexpr std::uint64_t hot_part = 5;             // a key is hot with more than one of so many

/// The limit of this digest in the configuration at work; null: it has none.
const Tally* find_limit(const Configuration& main, std::uint64_t digest) noexcept {
    const auto& all = main.tallies->all();
    const auto found =
        std::find_if(all.begin(), all.end(), [digest](const Tally& tally) { return tally.digest == digest; });
    return found != all.end() ? &*found : nullptr;
}

const StoreConf* find_store_of(const Configuration& main, std::uint64_t digest) noexcept {
    for (const StoreConf* store : main.stores) {
        if (xxh64(store->name, 0) == digest) {
            return store;
        }
    }
    return nullptr;
}

void log_key(const Tally& limit, const StoreConf& store, const HotKeyBoard::Sum& sum,
             const HotKeys::Key& key) noexcept {
    const std::string_view shard = sum.name;
    const bool in_cluster = !store.shards.empty() && store.shards.front().in_cluster;
    const bool of_regions = store.is_of_regions();
    const std::uint64_t percent = std::uint64_t{100} * key.certain() / sum.keys.noted();
    log_line(process_log(), LogLevel::warn,
             "rate limit \"%.*s\": one key makes %" PRIu64 "%% of the %" PRIu64
             " commands that this nginx sent in a minute to "
             "%s\"%.*s\" of \"%s\", id %016" PRIx64 ": %s",
             static_cast<int>(limit.name.size()), limit.name.data(), percent, sum.commands,
             in_cluster ? "the nodes of " : "shard ", static_cast<int>(shard.size()), shard.data(),
             store.name.c_str(), key.id,
             of_regions ? "a longer \"fresh\" asks less" : limit.limit->mode->when_hot);
}

/// Stores and limits that are not configured any more are not told.
void log_sum(const Configuration& main, const HotKeyBoard::Sum& sum) noexcept {
    const StoreConf* store = find_store_of(main, sum.store);
    if (store == nullptr || sum.commands < least_commands) {
        return;
    }
    for (const HotKeys::Key& key : sum.keys.keys()) {
        const Tally* limit = find_limit(main, key.limit);
        if (hot_part * key.certain() > sum.keys.noted() && limit != nullptr) {
            log_key(*limit, *store, sum, key);
        }
    }
}

}  // namespace

void tell_hot_keys(const Configuration& main) noexcept {
    const Millis now = now_millis();
    for (const StoreConf* store : main.stores) {
        if (store->live != nullptr) {
            store->live->tell_hot_keys(now);
        }
    }
    if (is_leaving()) {
        return;  // a worker of a former configuration would take, and not name, the keys of limits it has not
    }
    HotKeyBoard::Sum sum;
    while (main.zone->hot_keys().take(now, ticks_now(), sum)) {
        log_sum(main, sum);
    }
}

}  // namespace rate_limit
