#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/counts/hot_keys.h"
#include "core/limit/window.h"
#include "core/table/board.h"
#include "core/text/kept_text.h"

namespace rate_limit {

/// The board on which the processes of a machine add up, once a minute, of which keys the commands are that
/// each has sent to a shard; in memory that they share and that outlives them. When the minute is over and
/// all have had the time to add theirs, one process takes the sum, once.
///
/// A shard for which there is no room has no sum in that minute, in any process. What a process that died
/// would have added is missing.
class HotKeyBoard {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// Records, however much memory there is.
    static constexpr std::size_t most_shards = 256;

    /// Bytes of a shard's name. One with a longer name has no sum.
    static constexpr std::size_t most_name = 128;

    static constexpr Millis minute = 60'000;

    /// How long after the minute, and after the last that was added, in milliseconds, the sum is complete:
    /// each process adds its part within a second or so.
    static constexpr Millis patience = 2500;

    static constexpr std::uint64_t minute_of(Millis now) noexcept {
        return static_cast<std::uint64_t>(now / minute);
    }

    struct Shard {
        std::uint64_t store = 0;   ///< names the store
        std::uint64_t digest = 0;  ///< names the store and the shard; not 0
        std::string_view name;
    };

    /// The commands that one shard was sent.
    struct Sum {
        std::uint64_t store = 0;
        std::uint64_t commands = 0;
        HotKeys keys;  ///< the keys of some of the commands
        KeptText<most_name> name;
    };

    static constexpr std::size_t bytes_for(std::size_t shards) noexcept { return Sums::bytes_for(shards); }

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. False: there
    /// is no room for one shard.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept {
        return board_.use(memory, size, most_shards, user) && shards() != 0;
    }

    std::size_t shards() const noexcept { return board_.places(); }

    /// This process has sent the shard so many commands in the minute of minute_of(). `ticks`: milliseconds
    /// of a steady clock that all processes share, modulo 2^32. Waits for other processes.
    void add(const Shard& shard, std::uint64_t minute, std::uint64_t commands, const HotKeys& keys,
             std::uint32_t ticks) noexcept;

    /// Takes one of the sums that are complete: true for one process, once. False: there is none. To be
    /// called about once a second until it is false.
    bool take(Millis now, std::uint32_t ticks, Sum& sum) noexcept;

private:
    /// The beginning of a record: what its sum is of.
    struct Part {
        std::uint64_t digest;  // of the shard; 0: free
        std::uint64_t minute;
        std::uint32_t added;  // ticks, when something was added last
        bool untold;          // nobody has taken the sum

        bool is_due(Millis now, std::uint32_t ticks) const noexcept;
    };

    struct Record {
        Part part;
        Sum sum;
    };

    using Sums = Board<Record>;

    std::size_t place_for(std::uint64_t digest, std::uint64_t minute) const noexcept;

    Sums board_;
};

}  // namespace rate_limit
