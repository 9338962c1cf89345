#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// Windows that were seen used up: of those that a store keeps, only these need to be looked up before it is
/// asked. For all others, which is nearly every request, that look would be in vain, and a wait for memory
/// that no cache holds.
///
/// A Bloom filter with one hash, the keyed digest that an id is, in memory that processes share. It may name
/// a window that shares its bit with one that was noted, which costs a look. All are forgotten when the first
/// of them is `kept` old, which costs one question to the store for each that comes after that. So small that
/// it stays in the nearest cache.
class UsedUpWindows {
public:
    static constexpr std::size_t bits = 4096;
    static constexpr Millis kept = 60'000;

    /// Of zeros it is made: memory that is all zero holds none.
    struct Memory {
        std::array<std::atomic<std::uint64_t>, bits / 64> words;
        std::atomic<Millis> since;  // when the first was noted
    };

    /// The memory outlives this.
    void take_up(Memory& memory) noexcept { memory_ = &memory; }

    void note(const WindowId& id, Millis now) noexcept {
        Millis since = memory_->since.load(std::memory_order_relaxed);
        const bool old = now - since >= kept || now < since;
        if (old && memory_->since.compare_exchange_strong(since, now, std::memory_order_relaxed)) {
            for (auto& word : memory_->words) {
                word.store(0, std::memory_order_relaxed);  // what others note now may be lost
            }
        }
        if (!may_contain(id)) {
            word_of(id).fetch_or(bit_of(id), std::memory_order_relaxed);
        }
    }

    bool may_contain(const WindowId& id) const noexcept {
        return (word_of(id).load(std::memory_order_relaxed) & bit_of(id)) != 0;
    }

private:
    std::atomic<std::uint64_t>& word_of(const WindowId& id) const noexcept {
        return memory_->words[id.low / 64 % (bits / 64)];
    }
    static std::uint64_t bit_of(const WindowId& id) noexcept { return std::uint64_t{1} << (id.low % 64); }

    Memory* memory_ = nullptr;
};

}  // namespace rate_limit
