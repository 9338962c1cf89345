#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/limit/clocks.h"
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

    /// Remembers that this window was seen used up.
    void note(const WindowId& id, Millis now) noexcept {
        Millis since = since_.load(std::memory_order_relaxed);
        const bool old = now - since >= kept || is_set_back(since, now);
        if (old && since_.compare_exchange_strong(since, now, std::memory_order_relaxed)) {
            for (auto& word : words_) {
                word.store(0, std::memory_order_relaxed);  // may lose what other processes note just now
            }
        }
        if (!may_contain(id)) {
            words_[word_of(id)].fetch_or(bit_of(id), std::memory_order_relaxed);
        }
    }

    bool may_contain(const WindowId& id) const noexcept {
        return (words_[word_of(id)].load(std::memory_order_relaxed) & bit_of(id)) != 0;
    }

private:
    static std::size_t word_of(const WindowId& id) noexcept { return id.low / 64 % (bits / 64); }
    static std::uint64_t bit_of(const WindowId& id) noexcept { return std::uint64_t{1} << (id.low % 64); }

    std::array<std::atomic<std::uint64_t>, bits / 64> words_{};
    std::atomic<Millis> since_{0};  // when the first window was noted
};

}  // namespace rate_limit
