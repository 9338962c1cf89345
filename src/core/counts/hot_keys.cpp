#include "core/counts/hot_keys.h"

#include <algorithm>
#include <limits>

namespace rate_limit {

namespace {

constexpr std::uint32_t sum(std::uint32_t a, std::uint32_t b) noexcept {
    return b > std::numeric_limits<std::uint32_t>::max() - a ? std::numeric_limits<std::uint32_t>::max()
                                                             : a + b;
}

}  // namespace

std::size_t HotKeys::find(std::uint64_t id) const noexcept {
    std::size_t at = 0;
    while (at < taken_ && keys_[at].id != id) {
        ++at;
    }
    return at < taken_ ? at : most;
}

/// All places are taken.
std::size_t HotKeys::find_least() const noexcept {
    std::size_t least = 0;
    for (std::size_t at = 1; at < most; ++at) {
        least = keys_[at].count < keys_[least].count ? at : least;
    }
    return least;
}

/// The most times that a key without a place can have been named.
std::uint32_t HotKeys::most_missed() const noexcept {
    return taken_ < most ? missed_ : keys_[find_least()].count;
}

void HotKeys::raise_rest() noexcept {
    noted_ = sum(noted_, 1);
}

void HotKeys::raise(std::size_t place) noexcept {
    keys_[place].count = sum(keys_[place].count, 1);
    raise_rest();
}

std::size_t HotKeys::take(std::uint64_t id) noexcept {
    const std::uint32_t missed = most_missed();
    const std::size_t place = taken_ < most ? taken_++ : find_least();
    keys_[place] = {id, 0, missed, missed};
    raise(place);
    return place;
}

/// All have a place, for they had one before.
void HotKeys::add(const Key& called, const Key& counts) noexcept {
    std::size_t place = find(called.id);
    if (place == most) {
        place = taken_++;
        keys_[place] = {called.id, called.limit, 0, 0};
    }
    keys_[place].count = sum(keys_[place].count, counts.count);
    keys_[place].over = sum(keys_[place].over, counts.over);
}

/// A key that only one of both has may have been named in the other, as often as any without a place there.
/// The keys with the greatest counts of both stay.
void HotKeys::join(const HotKeys& other) noexcept {
    const std::uint32_t missed_here = most_missed();
    const std::uint32_t missed_there = other.most_missed();
    std::array<Key, 2 * most> all{};
    std::copy_n(keys_.begin(), taken_, all.begin());
    std::size_t count = taken_;
    for (std::size_t at = 0; at < taken_; ++at) {
        const std::size_t there = other.find(all[at].id);
        const bool known = there != most;
        all[at].count = sum(all[at].count, known ? other.keys_[there].count : missed_there);
        all[at].over = sum(all[at].over, known ? other.keys_[there].over : missed_there);
    }
    for (std::size_t at = 0; at < other.taken_; ++at) {
        if (find(other.keys_[at].id) == most) {
            all[count] = other.keys_[at];
            all[count].count = sum(all[count].count, missed_here);
            all[count].over = sum(all[count].over, missed_here);
            ++count;
        }
    }
    const std::size_t kept = std::min(count, most);
    std::partial_sort(all.begin(), all.begin() + kept, all.begin() + count,
                      [](const Key& a, const Key& b) { return a.count > b.count; });
    std::copy_n(all.begin(), kept, keys_.begin());
    taken_ = static_cast<std::uint32_t>(kept);
    missed_ = sum(missed_here, missed_there);
    noted_ = sum(noted_, other.noted_);
}

}  // namespace rate_limit
