#include "core/window_set.h"

namespace rate_limit {

template <typename Visit>
bool WindowSet::with_tag(Tag tag, std::uint64_t valid, Visit&& visit) const noexcept {
    constexpr std::uint64_t ones = 0x0001000100010001;
    constexpr std::uint64_t tops = ones << (tag_bits - 1);
    unsigned first = 0;
    for (const auto& word : tags_) {
        // The top bit of each 16 that are zero, and perhaps of some above them.
        const std::uint64_t differ = word.load(std::memory_order_relaxed) ^ (ones * tag);
        std::uint64_t equal = (differ - ones) & ~differ & tops;
        for (; equal != 0; equal &= equal - 1) {
            const unsigned slot = first + static_cast<unsigned>(__builtin_ctzll(equal)) / tag_bits;
            if (((valid >> slot) & 1) != 0 && visit(slot)) {
                return true;
            }
        }
        first += tags_a_word;
    }
    return false;
}

bool WindowSet::may_hold(const WindowId& id) const noexcept {
    return with_tag(tag_of(id), valid(), [](unsigned) { return true; });
}

unsigned WindowSet::find(const WindowId& id) const noexcept {
    unsigned found = no_slot;
    with_tag(tag_of(id), valid(), [&](unsigned slot) {
        if (at(slot).id != id) {
            return false;
        }
        found = slot;
        return true;
    });
    return found;
}

unsigned WindowSet::open(Millis now) const noexcept {
    unsigned count = 0;
    for (std::uint64_t left = valid(); left != 0; left &= left - 1) {
        if (at(static_cast<unsigned>(__builtin_ctzll(left))).reset > now) {
            ++count;
        }
    }
    return count;
}

void WindowSet::put(const WindowRecord& record, unsigned replaced) noexcept {
    const std::uint64_t old = valid();
    const unsigned slot = free_slot(old);
    records_.at(slot) = record;

    auto& word = tags_.at(slot / tags_a_word);
    const unsigned shift = slot % tags_a_word * tag_bits;
    const std::uint64_t others = word.load(std::memory_order_relaxed) & ~(std::uint64_t{0xffff} << shift);
    word.store(others | (std::uint64_t{tag_of(record.id)} << shift), std::memory_order_relaxed);

    const std::uint64_t freed = replaced == no_slot ? 0 : std::uint64_t{1} << replaced;
    publish((old | (std::uint64_t{1} << slot)) & ~freed);
}

void WindowSet::drop(unsigned slot) noexcept {
    publish(valid() & ~(std::uint64_t{1} << slot));
}

}  // namespace rate_limit
