#pragma once

#include <cstdint>
#include <string_view>

#include "core/counts/hot_keys.h"
#include "core/counts/random_sample.h"
#include "core/limit/window.h"
#include "ngx/conf/redis_conf.h"

namespace rate_limit {

class Command;

/// Of which keys the commands are that one worker sends to the nodes of one shard, reads and writes: counted
/// from a sample of them, and put on the zone's HotKeyBoard once a minute.
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
    void note(const Command& command) noexcept;

    const StoreConf& store_;
    RandomSample sample_;
    HotKeys keys_;
    std::uint64_t minute_;  // that is being counted
};

}  // namespace rate_limit
