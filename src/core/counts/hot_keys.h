#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/limit/window.h"
#include "core/table/board.h"
#include "core/text/kept_text.h"

namespace rate_limit {

/// The place where a key is counted, or else where it would be.
struct KeyPlace {
    std::size_t at = 0;
    bool is_taken = false;  ///< by the key
};

/// The rule by which the keys that a stream names most often are counted in a fixed number of places: a key
/// without a place takes that of the least count, and inherits this count as its error ("space-saving":
/// Metwally, Agrawal and El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
/// 2005). After n were named, whatever their order, each key that was named more than n / places times has a
/// place; its count is at least how often it was named, and the count without its error at most that.
///
/// Finds the place of the key with this id, or the one that it takes. id_at(place) and count_at(place) say
/// what is in a place; there is one at least.
template <typename IdAt, typename CountAt>
KeyPlace find_key(std::uint64_t id, std::size_t places, IdAt&& id_at, CountAt&& count_at) noexcept {
    KeyPlace least;
    auto least_count = count_at(0);
    for (std::size_t at = 0; at < places; ++at) {
        if (id_at(at) == id) {
            return {at, true};
        }
        if (const auto count = count_at(at); count < least_count) {
            least.at = at;
            least_count = count;
        }
    }
    return least;
}

/// The keys that commands name most often, counted by the rule of find_key(). `certain` counts are at most
/// n / most less than how often a key was named. The same holds of what join() has made of several streams,
/// n being their sum (Cafaro, Pulimeno and Tempesta, "A parallel space saving algorithm for frequent items
/// and the Hurwitz zeta distribution", 2016). Counts stop at 2^32 - 1.
///
/// Plain data: it may lie in memory that processes share. All zero bytes are an empty one.
class HotKeys {
public:
    static constexpr std::size_t most = 16;

    struct Key {
        std::uint64_t id = 0;     ///< tells keys apart, by the caller's word; 0: the place is free
        std::uint64_t limit = 0;  ///< whose limit it is, where the caller has said that
        /// How often it was named at most; in a free place, how often something without a key was.
        std::uint32_t count = 0;
        std::uint32_t over = 0;  ///< how many too many `count` can be

        std::uint32_t certain() const noexcept { return count - over; }
    };

    /// The place of the key, or the one that it takes. `id` is not 0.
    KeyPlace find(std::uint64_t id) const noexcept {
        return find_key(
            id, most, [this](std::size_t at) { return keys_[at].id; },
            [this](std::size_t at) { return keys_[at].count; });
    }

    /// The key was named whose place find() has told.
    void raise(const KeyPlace& place, std::uint64_t id) noexcept;

    /// Something without a key was named.
    void raise_rest() noexcept;

    /// These counts with other names of the keys: name(place) gives one, as a Key of which the id and the
    /// limit count. Those that are called the same are one: of m that are, the count can be too high, and
    /// certain() too low, by m times as much.
    template <typename Fn>
    HotKeys named(Fn&& name) const {
        HotKeys all;
        for (std::size_t place = 0; place < most; ++place) {
            const Key called = keys_[place].id != 0 ? name(place) : Key();
            if (called.id != 0) {
                all.add(called, keys_[place]);
            }
        }
        all.noted_ = noted_;
        all.fill(known(0).count);
        return all;
    }

    /// Takes up what another one has counted.
    void join(const HotKeys& other) noexcept;

    /// How often something was named, without a key, too.
    std::uint32_t noted() const noexcept { return noted_; }

    /// In no order; places that are free come last.
    const std::array<Key, most>& keys() const noexcept { return keys_; }

private:
    void add(const Key& called, const Key& counts) noexcept;
    void fill(std::uint32_t missed) noexcept;
    Key known(std::uint64_t id) const noexcept;

    std::uint32_t noted_ = 0;
    std::array<Key, most> keys_{};
};

/// Takes one of sixteen events on average. The gaps are drawn at random, 1 to 31 events with the same
/// probability: what repeats with a period is taken as often as anything else.
class RandomSample {
public:
    /// Another `seed` takes others. 0 is taken for another one.
    explicit RandomSample(std::uint64_t seed) noexcept : state_(seed != 0 ? seed : 1) { draw(); }

    /// There is an event: whether it is taken.
    bool take() noexcept {
        if (--left_ != 0) {
            return false;
        }
        draw();
        return true;
    }

    /// How many events there were, taken or not, since the last call.
    std::uint64_t take_seen() noexcept {
        const std::uint64_t seen = drawn_ - left_ - told_;
        told_ += seen;
        return seen;
    }

private:
    static constexpr std::uint32_t longest = 31;

    /// Marsaglia's xorshift64.
    void draw() noexcept {
        state_ ^= state_ << 13U;
        state_ ^= state_ >> 7U;
        state_ ^= state_ << 17U;
        left_ = 1 + static_cast<std::uint32_t>(((state_ >> 32U) * longest) >> 32U);
        drawn_ += left_;
    }

    std::uint32_t left_ = 0;  // events until one is taken, that one included
    std::uint64_t state_;
    std::uint64_t drawn_ = 0;  // the sum of all gaps
    std::uint64_t told_ = 0;
};

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

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. Without room
    /// for one shard there are no sums. False: the memory is null or not aligned.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept {
        return size < bytes_for(1) || board_.use(memory, size, most_shards, user);
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
