#include "ngx/wire/command_sample.h"

#include <algorithm>

#include "ngx/base/client_id.h"
#include "ngx/base/zone.h"
#include "ngx/tallies/tallies.h"
#include "ngx/wire/command.h"
#include "redis/keys/shard_choice.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

namespace {

std::uint64_t seed() noexcept {
    return static_cast<std::uint64_t>(ngx_random()) << 32U | static_cast<std::uint32_t>(ngx_pid);
}

}  // namespace

CommandSample::CommandSample(const StoreConf& store) noexcept
    : store_(store), sample_(seed()), minute_(HotKeyBoard::minute_of(now_millis())) {}

void CommandSample::note(const Command& command) noexcept {
    const WindowKeyParts parts = parts_of_window_key(command.window_key(), store_.prefix.size());
    if (parts.key.empty()) {
        keys_.note(0, 0);
        return;
    }
    keys_.note(client_id(*store_.zone, store_.name, parts.name, parts.key),
               limit_digest(store_.name, parts.name));
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
        store_.zone->hot_keys().add({store, digest, shard}, minute_, commands, keys_, ticks_now());
        keys_ = {};
    }
}

}  // namespace rate_limit
