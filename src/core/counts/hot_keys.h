#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The keys that a stream names most often, in a fixed number of places: a key without a place takes that of
/// the least count, and inherits this count as its error ("space-saving": Metwally, Agrawal and El Abbadi,
/// "Efficient computation of frequent and top-k elements in data streams", 2005).
///
/// After n were named, whatever their order: each key that was named more than n / most times has a place;
/// its count is at least as often as it was named; and certain() is at most so often, and at most n / most
/// less. The same holds of what join() has made of several streams, n being their sum (Cafaro, Pulimeno and
/// Tempesta, "A parallel space saving algorithm for frequent items and the Hurwitz zeta distribution", 2016).
/// Counts stop at 2^32 - 1.
///
/// Plain data: it may lie in memory that processes share. All zero bytes are an empty one.
class HotKeys {
public:
    static constexpr std::size_t most = 16;

    struct Key {
        std::uint64_t id = 0;     ///< tells keys apart, by the caller's word; 0: the place is free
        std::uint64_t limit = 0;  ///< whose limit it is, where the caller has said that
        std::uint32_t count = 0;  ///< how often it was named at most
        std::uint32_t over = 0;   ///< how many too many `count` can be

        std::uint32_t certain() const noexcept { return count - over; }
    };

    /// The place of the key; `most`: it has none.
    std::size_t find(std::uint64_t id) const noexcept;

    /// The key in that place was named.
    void raise(std::size_t place) noexcept;

    /// A key without a place was named. Returns the place that it has now. `id` is not 0.
    std::size_t take(std::uint64_t id) noexcept;

    /// Something without a key was named.
    void raise_rest() noexcept;

    /// These counts with other names of the keys: name(place) gives one, as a Key of which the id and the
    /// limit count. Those that are called the same are one: of m that are, the count can be too high, and
    /// certain() too low, by m times as much.
    template <typename Fn>
    HotKeys named(Fn&& name) const {
        HotKeys all;
        all.noted_ = noted_;
        all.missed_ = most_missed();
        for (std::size_t place = 0; place < taken_; ++place) {
            const Key called = name(place);
            if (called.id != 0) {
                all.add(called, keys_[place]);
            }
        }
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
    std::size_t find_least() const noexcept;
    std::uint32_t most_missed() const noexcept;

    std::uint32_t noted_ = 0;
    std::uint32_t missed_ = 0;  // the most namings of a key without a place, though some are free
    std::uint32_t taken_ = 0;   // places
    std::array<Key, most> keys_{};
};

}  // namespace rate_limit
