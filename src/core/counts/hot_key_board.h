#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/counts/hot_keys.h"
#include "core/limit/window.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// The board on which the processes of a machine add up, once a minute, of which keys the commands are that
/// each has sent to a shard; in memory that they share and that outlives them. When the minute is over and
/// all have had the time to add theirs, one process takes the sum, once.
///
/// A shard for which there is no room has no sum in that minute, in any process. What a process that died
/// would have added is missing; where it died while it added, that shard has no sum in that minute.
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
        std::array<char, most_name> text;
        std::size_t length = 0;

        std::string_view name() const noexcept { return {text.data(), length}; }
    };

    static constexpr std::size_t bytes_for(std::size_t shards) noexcept {
        return sizeof(Header) + shards * sizeof(Record);
    }

    /// Memory that is all zero at first, perhaps with room for no shard; each process calls this as `user`,
    /// with the same size. False: it is too small even so.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept;

    std::size_t shards() const noexcept { return places_; }

    /// This process has sent the shard so many commands in the minute of minute_of(). `ticks`: milliseconds
    /// of a steady clock that all processes share, modulo 2^32. Waits for other processes.
    void add(const Shard& shard, std::uint64_t minute, std::uint64_t commands, const HotKeys& keys,
             std::uint32_t ticks) noexcept;

    /// Takes one of the sums that are complete: true for one process, once. False: there is none. To be
    /// called about once a second until it is false.
    bool take(Millis now, std::uint32_t ticks, Sum& sum) noexcept;

private:
    enum class State : std::uint32_t {
        complete,  ///< all that was added is in the sum
        changing,  ///< by the lock's owner, perhaps a dead one
        over,      ///< taken, or spoilt: nothing is added in this minute any more
    };

    struct alignas(alignment) Header {
        OwnedLock lock;                     // guards the records
        std::atomic<std::uint32_t> untold;  // 0: no sum is waiting
    };

    struct alignas(alignment) Record {
        std::uint64_t digest;  // 0: free, and so are all behind it
        std::uint64_t minute;
        std::atomic<State> state;
        std::uint32_t added;  // ticks, when something was added last
        Sum sum;
    };

    Record* place_for(const Shard& shard, std::uint64_t minute) noexcept;
    static bool is_due(const Record& record, Millis now, std::uint32_t ticks) noexcept;

    LockUser user_;
    Header* header_ = nullptr;
    Record* records_ = nullptr;
    std::size_t places_ = 0;
};

}  // namespace rate_limit
