#include "core/counts/hot_keys.h"

#include <algorithm>
#include <limits>

namespace rate_limit {

namespace {

constexpr std::uint32_t add(std::uint32_t a, std::uint32_t b) noexcept {
    return b > std::numeric_limits<std::uint32_t>::max() - a ? std::numeric_limits<std::uint32_t>::max()
                                                             : a + b;
}

}  // namespace

/// The key's place; `most`: it has none.
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

/// As often a key without a place can have been named.
std::uint32_t HotKeys::most_unnoted() const noexcept {
    return taken_ < most ? 0 : keys_[find_least()].count;
}

void HotKeys::note(std::uint64_t id, std::uint64_t limit) noexcept {
    noted_ = add(noted_, 1);
    if (id == 0) {
        return;
    }
    std::size_t at = find(id);
    if (at == most && taken_ < most) {
        at = taken_++;
        keys_[at] = {id, limit, 0, 0};
    } else if (at == most) {
        at = find_least();
        keys_[at] = {id, limit, keys_[at].count, keys_[at].count};
    }
    keys_[at].count = add(keys_[at].count, 1);
}

/// A key that only one of both has may have been named in the other, as often as any without a place there.
/// Of all keys of both those with the greatest counts stay.
void HotKeys::join(const HotKeys& other) noexcept {
    const std::uint32_t unnoted_here = most_unnoted();
    const std::uint32_t unnoted_there = other.most_unnoted();
    std::array<Key, 2 * most> all{};
    std::copy_n(keys_.begin(), taken_, all.begin());
    std::size_t count = taken_;
    for (std::size_t at = 0; at < taken_; ++at) {
        const std::size_t there = other.find(all[at].id);
        const bool known = there != most;
        all[at].count = add(all[at].count, known ? other.keys_[there].count : unnoted_there);
        all[at].over = add(all[at].over, known ? other.keys_[there].over : unnoted_there);
    }
    for (std::size_t at = 0; at < other.taken_; ++at) {
        if (find(other.keys_[at].id) == most) {
            all[count] = other.keys_[at];
            all[count].count = add(all[count].count, unnoted_here);
            all[count].over = add(all[count].over, unnoted_here);
            ++count;
        }
    }
    const std::size_t kept = std::min(count, most);
    std::partial_sort(all.begin(), all.begin() + kept, all.begin() + count,
                      [](const Key& a, const Key& b) { return a.count > b.count; });
    std::copy_n(all.begin(), kept, keys_.begin());
    taken_ = static_cast<std::uint32_t>(kept);
    noted_ = add(noted_, other.noted_);
}

}  // namespace rate_limit
