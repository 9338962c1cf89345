#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

/// The windows of a store that were seen used up. Before a request asks the store, it needs to look at this
/// machine's memory only if its window is one of these: for all others, nearly every request, that look would
/// be in vain, and would wait for memory that is in no cache.
///
/// It is a Bloom filter in memory that processes share; its only hash is the id, which is a keyed digest. It
/// may also name a window that shares its bit with a noted one: that costs a look. It forgets all windows
/// when the first of them is `kept` old: after that each that is still used up costs one question to the
/// store. It is so small that it stays in the nearest cache.
class UsedUpWindows {
public:
    static constexpr std::size_t bits = 4096;
    static constexpr Millis kept = 60'000;

    /// Memory that is all zero holds no windows.
    struct Memory {
        std::array<std::atomic<std::uint64_t>, bits / 64> words;
        std::atomic<Millis> since;  // when the first window was noted
    };

    /// Uses this memory, which must outlive this object.
    void take_up(Memory& memory) noexcept { memory_ = &memory; }

    /// Remembers that this window was seen used up.
    void note(const WindowId& id, Millis now) noexcept {
        Millis since = memory_->since.load(std::memory_order_relaxed);
        const bool old = now - since >= kept || now < since;
        if (old && memory_->since.compare_exchange_strong(since, now, std::memory_order_relaxed)) {
            for (auto& word : memory_->words) {
                word.store(0, std::memory_order_relaxed);  // may lose what other processes note just now
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
