#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/counts/hot_keys.h"
#include "core/limit/window.h"
#include "core/text/kept_text.h"
#include "limiter/store_conf.h"

namespace rate_limit {

class Command;

/// The keys of the commands that one worker sends to the nodes of one shard, reads and writes: counted from a
/// sample of them, and put on the zone's HotKeyBoard once a minute. Until then windows are counted by their
/// Redis keys, those of one key with several periods each by itself; and without a key those whose Redis key
/// has more than most_text bytes.
class CommandSample {
public:
    /// `store` outlives this.
    explicit CommandSample(const StoreConf& store) noexcept;
    CommandSample(const CommandSample&) = delete;
    CommandSample& operator=(const CommandSample&) = delete;

    /// The command has just been sent.
    void count(const Command& command) noexcept {
        if (sample_.take()) {
            note(command);
        }
    }

    /// Puts the last minute on the board, if it is over. `shard`: what the shard is called now. To be called
    /// about once a second.
    void tell(std::string_view shard, Millis now) noexcept;

    /// Puts what there is on the board: nothing is sent any more.
    void tell_last(std::string_view shard) noexcept;

private:
    static constexpr std::size_t most_text = 192;

    HotKeys::Key key_of(std::string_view redis_key) const noexcept;
    void note(const Command& command) noexcept;

    const StoreConf& store_;
    RandomSample sample_;
    const std::uint64_t seed_;  // for the hash by which keys_ tells texts apart
    HotKeys keys_;
    std::array<KeptText<most_text>, HotKeys::most> texts_{};  // Redis keys in the places of keys_
    std::uint64_t minute_;                                    // that is being counted
};

}  // namespace rate_limit
