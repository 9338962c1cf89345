#include "bench/simulate/server/keyspace.h"

#include <utility>

namespace rate_limit::simulated {
namespace {

constexpr std::size_t least_slots = 16;

/// The finalizer of MurmurHash3 (Austin Appleby), as numbers of keys may be close together.
std::uint64_t mixed(std::uint64_t key) noexcept {
    key = (key ^ key >> 33) * 0xff51afd7ed558ccdU;
    key = (key ^ key >> 33) * 0xc4ceb9fe1a85ec53U;
    return key ^ key >> 33;
}

bool has_expired(const Value& value, Millis now) noexcept {
    return value.expires != Value::never && value.expires < now;
}

}  // namespace

/// The place of the key, or the gap where it belongs.
std::size_t Keyspace::place_of(KeyId key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t place = mixed(key) & mask;
    while (slots_[place].value.there() && slots_[place].key != key) {
        place = (place + 1) & mask;
    }
    return place;
}

const Value* Keyspace::find(KeyId key) const noexcept {
    if (slots_.empty()) {
        return nullptr;
    }
    const Value& value = slots_[place_of(key)].value;
    return value.there() ? &value : nullptr;
}

Value* Keyspace::find(KeyId key) noexcept {
    return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Keyspace::make(KeyId key, Millis now) {
    if (Value* found = find(key)) {
        return *found;
    }
    if (3 * (count_ + 1) > 2 * slots_.size()) {
        grow(now);
    }
    Slot& slot = slots_[place_of(key)];
    slot.key = key;
    slot.value = Value{Value::never, std::string{}};
    ++count_;
    return slot.value;
}

void Keyspace::grow(Millis now) {
    std::vector<Slot> before = std::move(slots_);
    std::size_t living = 0;
    for (const Slot& slot : before) {
        living += slot.value.there() && !has_expired(slot.value, now) ? 1 : 0;
    }
    std::size_t size = least_slots;
    while (size < 2 * (living + 1)) {
        size *= 2;
    }
    slots_ = std::vector<Slot>(size);
    count_ = living;
    for (Slot& slot : before) {
        if (slot.value.there() && !has_expired(slot.value, now)) {
            slots_[place_of(slot.key)] = std::move(slot);
        }
    }
}

void Keyspace::erase(KeyId key) noexcept {
    if (slots_.empty()) {
        return;
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t gap = place_of(key);
    if (!slots_[gap].value.there()) {
        return;
    }
    --count_;
    for (std::size_t next = (gap + 1) & mask; slots_[next].value.there(); next = (next + 1) & mask) {
        // A key may move back no further than to where it would be looked for first.
        const std::size_t home = mixed(slots_[next].key) & mask;
        if (((next - home) & mask) >= ((next - gap) & mask)) {
            slots_[gap] = std::move(slots_[next]);
            gap = next;
        }
    }
    slots_[gap] = Slot{};
}

void Keyspace::clear() noexcept {
    slots_.clear();
    count_ = 0;
}

}  // namespace rate_limit::simulated
