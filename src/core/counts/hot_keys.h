#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace rate_limit {

/// The keys that a stream names most often, in a fixed number of places: a key without a place takes that of
/// the least count, and inherits this count as its error ("space-saving": Metwally, Agrawal and El Abbadi,
/// "Efficient computation of frequent and top-k elements in data streams", 2005).
///
/// After n calls, whatever their order: each key that was named more than n / most times has a place; its
/// count is at least as often as it was named; and certain() is at most so often, and at most n / most less.
/// The same holds of what join() has made of several streams, n being their sum (Cafaro, Pulimeno and
/// Tempesta, "A parallel space saving algorithm for frequent items and the Hurwitz zeta distribution", 2016).
/// Counts stop at 2^32 - 1.
///
/// Plain data: it may lie in memory that processes share. All zero bytes are an empty one.
class HotKeys {
public:
    static constexpr std::size_t most = 32;

    struct Key {
        std::uint64_t id = 0;     ///< of the key at its limit; 0: the place is free
        std::uint64_t limit = 0;  ///< names the limit
        std::uint32_t count = 0;  ///< as often it was named at most
        std::uint32_t over = 0;   ///< how many too many `count` can be

        std::uint32_t certain() const noexcept { return count - over; }
    };

    /// Something was named; `id` 0: no key.
    void note(std::uint64_t id, std::uint64_t limit) noexcept;

    /// Takes up what another one has counted.
    void join(const HotKeys& other) noexcept;

    /// How often something was named, without a key, too.
    std::uint32_t noted() const noexcept { return noted_; }

    /// In no order; places that are free come last.
    const std::array<Key, most>& keys() const noexcept { return keys_; }

private:
    std::size_t find(std::uint64_t id) const noexcept;
    std::size_t find_least() const noexcept;
    std::uint32_t most_unnoted() const noexcept;

    std::uint32_t noted_ = 0;
    std::uint32_t taken_ = 0;  // places
    std::array<Key, most> keys_{};
};

}  // namespace rate_limit
