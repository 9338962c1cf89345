#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/simulate/server/value.h"

namespace rate_limit::simulated {

/// The caller gives each key that it would send to Redis a number of its own; any will do.
using KeyId = std::uint64_t;

/// The keys of one server: a table with open addressing and linear probing, 64 bytes a key. Keys that are
/// taken away leave no gap (Knuth, The Art of Computer Programming 3, 6.4, algorithm R).
class Keyspace {
public:
    /// Null: no key. Pointers are valid until the next make(), erase() or clear().
    Value* find(KeyId key) noexcept;
    const Value* find(KeyId key) const noexcept;

    /// Finds the key, or makes one with an empty string, which the caller replaces. Where the table is full,
    /// keys that have expired by `now` make room first.
    Value& make(KeyId key, Millis now);

    void erase(KeyId key) noexcept;
    void clear() noexcept;

    std::size_t size() const noexcept { return count_; }

    /// Calls `visit(key, value)` for each key, also for those that have expired and nobody has asked for
    /// since.
    template <typename Visit>
    void for_each(Visit visit) const {
        for (const Slot& slot : slots_) {
            if (slot.value.there()) {
                visit(slot.key, slot.value);
            }
        }
    }

private:
    struct Slot {
        KeyId key = 0;
        Value value;
    };

    std::size_t place_of(KeyId key) const noexcept;
    void grow(Millis now);

    std::vector<Slot> slots_;  // a power of two, or none
    std::size_t count_ = 0;
};

}  // namespace rate_limit::simulated
