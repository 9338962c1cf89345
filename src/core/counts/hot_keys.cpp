#include "core/counts/hot_keys.h"

#include <algorithm>
#include <limits>

#include "core/limit/clocks.h"

namespace rate_limit {

namespace {

constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) noexcept {
    return b > std::numeric_limits<std::uint32_t>::max() - a ? std::numeric_limits<std::uint32_t>::max()
                                                             : a + b;
}

}  // namespace

void HotKeys::raise_rest() noexcept {
    noted_ = sum(noted_, 1);
}

void HotKeys::raise(const KeyPlace& place, std::uint64_t id) noexcept {
    Key& key = keys_[place.at];
    if (!place.is_taken) {
        key = {id, 0, key.count, key.count};
    }
    key.count = sum(key.count, 1);
    raise_rest();
}

/// The count of a key, as far as it is known: one without a place was named at most as often as the least
/// that have one.
HotKeys::Key HotKeys::known(std::uint64_t id) const noexcept {
    const KeyPlace place = find(id);
    const Key& key = keys_[place.at];
    return place.is_taken && id != 0 ? key : Key{id, 0, key.count, key.count};
}

/// All have a place, for they had one before.
void HotKeys::add(const Key& called, const Key& counts) noexcept {
    auto* key = std::find_if(keys_.begin(), keys_.end(),
                             [&](const Key& there) { return there.id == called.id || there.id == 0; });
    *key = {called.id, key->id != 0 ? key->limit : called.limit, sum(key->count, counts.count),
            sum(key->over, counts.over)};
}

/// A key without a place was named at most so often.
void HotKeys::fill(std::uint32_t missed) noexcept {
    for (Key& key : keys_) {
        key = key.id != 0 ? key : Key{0, 0, missed, missed};
    }
}

/// The keys with the greatest counts of both stay.
void HotKeys::join(const HotKeys& other) noexcept {
    std::array<Key, 2 * most> all{};
    std::size_t count = 0;
    const auto add = [&](const Key& key, const Key& there) {
        all[count++] = {key.id, key.limit, sum(key.count, there.count), sum(key.over, there.over)};
    };
    const std::uint32_t missed = sum(known(0).count, other.known(0).count);
    for (const Key& key : keys_) {
        if (key.id != 0) {
            add(key, other.known(key.id));
        }
    }
    for (const Key& key : other.keys_) {
        if (key.id != 0 && !find(key.id).is_taken) {
            add(key, known(key.id));
        }
    }
    std::partial_sort(all.begin(), all.begin() + std::min(count, most), all.begin() + count,
                      [](const Key& a, const Key& b) { return a.count > b.count; });
    std::copy_n(all.begin(), most, keys_.begin());
    fill(missed);
    noted_ = sum(noted_, other.noted_);
}

/// That of the shard, or one that it can have: a free one, or that of a shard which nobody has used in the
/// minute before. So whether there is one does not change within a minute.
std::size_t HotKeyBoard::place_for(std::uint64_t digest, std::uint64_t minute) const noexcept {
    const std::size_t own = board_.find<Part>([&](const Part& part) { return part.digest == digest; });
    return own != Sums::none ? own : board_.find<Part>([minute](const Part& part) {
        return part.minute + 1 < minute || part.minute > minute + 1;
    });
}

void HotKeyBoard::add(const Shard& shard, std::uint64_t minute, std::uint64_t commands, const HotKeys& keys,
                      std::uint32_t ticks) noexcept {
    if (shard.name.size() > most_name || shards() == 0) {
        return;
    }
    Sums::Writing writing(board_);
    const std::size_t place = place_for(shard.digest, minute);
    if (place == Sums::none) {
        return;
    }
    Record record = board_.read(place);
    const bool of_shard = record.part.digest == shard.digest;
    const bool same = of_shard && record.part.minute == minute;
    if ((same && !record.part.untold) || (of_shard && record.part.minute == minute + 1)) {
        return;  // too late: the sum is taken, or others have begun with the next one
    }
    if (!same) {
        record.sum = {};
    }
    record.part = {shard.digest, minute, ticks, true};
    record.sum.store = shard.store;
    record.sum.commands += commands;
    record.sum.keys.join(keys);
    record.sum.name = shard.name;
    writing.write(place, record);
}

/// A minute that has yet to begin is one of before the clock was set back.
bool HotKeyBoard::Part::is_due(Millis now, std::uint32_t ticks) const noexcept {
    const auto begin = static_cast<Millis>(minute) * HotKeyBoard::minute;
    const bool ended = is_set_back(begin, now) || now - begin >= HotKeyBoard::minute + patience;
    return untold && ended && since(added, ticks) >= patience;
}

bool HotKeyBoard::take(Millis now, std::uint32_t ticks, Sum& sum) noexcept {
    const std::size_t place = board_.find<Part>([&](const Part& part) { return part.is_due(now, ticks); });
    return place != Sums::none && board_.change(place, [&](Record& record) {
        const bool is_due = record.part.is_due(now, ticks);
        record.part.untold = false;
        sum = record.sum;
        return is_due;
    });
}

}  // namespace rate_limit
