#include "core/counts/hot_key_board.h"

#include <algorithm>

namespace rate_limit {

bool HotKeyBoard::use(void* memory, std::size_t size, const LockUser& user) noexcept {
    if (!LayoutMark::fits(memory, size, sizeof(Header))) {
        return false;
    }
    user_ = user;
    header_ = static_cast<Header*>(memory);
    records_ = reinterpret_cast<Record*>(static_cast<char*>(memory) + sizeof(Header));
    places_ = std::min(most_shards, (size - sizeof(Header)) / sizeof(Record));
    return true;
}

/// The shard's record, or one that it can have: a free one, or that of a shard which nobody has used in the
/// minute before. So whether there is one does not change within a minute. Null: there is none.
HotKeyBoard::Record* HotKeyBoard::place_for(const Shard& shard, std::uint64_t minute) noexcept {
    Record* place = nullptr;
    for (std::size_t at = 0; at < places_; ++at) {
        Record& record = records_[at];
        if (record.digest == shard.digest) {
            return &record;
        }
        const bool old = record.minute + 1 < minute || record.minute > minute + 1;
        if (record.digest == 0 || old) {
            place = place != nullptr ? place : &record;
        }
        if (record.digest == 0) {
            break;
        }
    }
    return place;
}

void HotKeyBoard::add(const Shard& shard, std::uint64_t minute, std::uint64_t commands, const HotKeys& keys,
                      std::uint32_t ticks) noexcept {
    if (shard.name.size() > most_name || places_ == 0) {
        return;
    }
    HeldLock held;
    held.acquire(header_->lock, user_);
    Record* const record = place_for(shard, minute);
    if (record == nullptr) {
        return;
    }
    const bool of_shard = record->digest == shard.digest;
    if (of_shard && record->minute == minute + 1) {
        return;  // too late: others have begun with the next one
    }
    const bool same = of_shard && record->minute == minute;
    if (same && record->state.load(std::memory_order_relaxed) != State::complete) {
        record->state.store(State::over, std::memory_order_relaxed);
        return;
    }
    record->state.store(State::changing, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (!same) {
        record->sum = {};
        record->minute = minute;
        record->digest = shard.digest;
    }
    Sum& sum = record->sum;
    sum.store = shard.store;
    sum.commands += commands;
    sum.keys.join(keys);
    sum.length = shard.name.copy(sum.text.data(), most_name);
    record->added = ticks;
    record->state.store(State::complete, std::memory_order_release);
    header_->untold.store(1, std::memory_order_relaxed);
}

/// A minute that has yet to begin is one of before the clock was set back.
bool HotKeyBoard::is_due(const Record& record, Millis now, std::uint32_t ticks) noexcept {
    const auto begin = static_cast<Millis>(record.minute) * minute;
    const bool ended = now < begin || now - begin >= minute + patience;
    return ended && ticks - record.added >= static_cast<std::uint32_t>(patience);
}

bool HotKeyBoard::take(Millis now, std::uint32_t ticks, Sum& sum) noexcept {
    if (header_->untold.load(std::memory_order_relaxed) == 0) {
        return false;
    }
    HeldLock held;
    held.acquire(header_->lock, user_);
    bool untold = false;
    for (std::size_t at = 0; at < places_ && records_[at].digest != 0; ++at) {
        Record& record = records_[at];
        if (record.state.load(std::memory_order_acquire) != State::complete) {
            continue;
        }
        if (is_due(record, now, ticks)) {
            record.state.store(State::over, std::memory_order_relaxed);
            sum = record.sum;
            return true;
        }
        untold = true;
    }
    header_->untold.store(untold ? 1 : 0, std::memory_order_relaxed);
    return false;
}

}  // namespace rate_limit
