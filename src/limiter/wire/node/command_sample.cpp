#include "limiter/wire/node/command_sample.h"

#include <algorithm>

#include "limiter/client_id.h"
#include "limiter/tallies/tallies.h"
#include "limiter/wire/command.h"
#include "limiter/zone.h"
#include "redis/keys/shard_choice.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

namespace {

std::uint64_t random_number() noexcept {
    return static_cast<std::uint64_t>(random_bits()) << 32U | random_bits();
}

}  // namespace

CommandSample::CommandSample(const StoreConf& store) noexcept
    : store_(store),
      sample_(random_number()),
      seed_(random_number()),
      minute_(HotKeyBoard::minute_of(now_millis())) {}

void CommandSample::note(const Command& command) noexcept {
    const std::string_view key = command.window_key();
    const std::uint64_t id = xxh64(key, seed_);
    const KeyPlace place = keys_.find(id);
    KeptText<most_text>& text = texts_[place.at];
    if (key.empty() || key.size() > most_text || id == 0 || (place.is_taken && !(text == key))) {
        keys_.raise_rest();  // the last: somebody sends keys of the same hash
        return;
    }
    keys_.raise(place, id);
    if (!place.is_taken) {
        text = key;
    }
}

/// The key at its limit, named as the log does; all 0: it has no name.
HotKeys::Key CommandSample::key_of(std::string_view redis_key) const noexcept {
    const WindowKeyParts parts = parts_of_window_key(redis_key, store_.prefix.size());
    if (parts.key.empty()) {
        return {};
    }
    const std::string& store = (store_.home != nullptr ? *store_.home : store_).name;  // that of the limit
    return {client_id(*store_.zone, store, parts.name, parts.key), limit_digest(store, parts.name), 0, 0};
}

void CommandSample::tell(std::string_view shard, Millis now) noexcept {
    if (HotKeyBoard::minute_of(now) != minute_) {
        tell_last(shard);
        minute_ = HotKeyBoard::minute_of(now);
    }
}

void CommandSample::tell_last(std::string_view shard) noexcept {
    const std::uint64_t commands = sample_.take_seen();
    if (commands != 0) {
        const std::uint64_t store = xxh64(store_.name, 0);
        const std::uint64_t digest = std::max<std::uint64_t>(xxh64(shard, store), 1);
        const HotKeys keys = keys_.named([this](std::size_t place) { return key_of(texts_[place]); });
        store_.zone->hot_keys().add({store, digest, shard}, minute_, commands, keys, ticks_now());
        keys_ = {};
    }
}

}  // namespace rate_limit
