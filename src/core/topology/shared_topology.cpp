#include "core/topology/shared_topology.h"

#include <cstring>

namespace rate_limit {

bool SharedTopology::create(void* memory, std::size_t size) noexcept {
    if (size <= sizeof(Header)) {
        return false;
    }
    header_ = static_cast<Header*>(memory);
    room_ = size - sizeof(Header);
    header_->layout.store(version, std::memory_order_release);
    begin_configuration();
    return true;
}

bool SharedTopology::attach(void* memory, std::size_t size) noexcept {
    header_ = static_cast<Header*>(memory);
    room_ = size - sizeof(Header);
    if (size <= sizeof(Header) || header_->layout.load(std::memory_order_acquire) != version) {
        return false;
    }
    begin_configuration();
    return true;
}

bool SharedTopology::read(std::string& bytes, std::uint64_t& generation) const {
    bytes.reserve(room_ < 4096 ? room_ : 4096);
    HeldLock held;
    held.acquire(header_->lock, user_);
    generation = header_->generation.load(std::memory_order_relaxed);
    if (generation == 0 || header_->whole == 0 || header_->size > room_) {
        return false;
    }
    bytes.assign(this->bytes(), header_->size);
    return true;
}

SharedTopology::Publication SharedTopology::publish(std::string_view bytes) noexcept {
    if (bytes.size() > room_) {
        return Publication::no_room;
    }
    HeldLock held;
    held.acquire(header_->lock, user_);
    if (!has_turn()) {
        return Publication::no_turn;
    }
    // The order matters to a worker that takes the lock over from this process, should it die here.
    header_->whole = 0;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    bytes.copy(this->bytes(), bytes.size());
    header_->size = bytes.size();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    header_->whole = 1;
    header_->generation.fetch_add(1, std::memory_order_release);
    return Publication::done;
}

bool SharedTopology::take_turn(std::uint32_t now, std::uint32_t length) noexcept {
    HeldLock held;
    held.acquire(header_->lock, user_);
    const std::uint64_t asker = header_->asker;
    const bool runs = static_cast<std::int32_t>(static_cast<std::uint32_t>(header_->until) - now) > 0;
    if (asker != 0 && !has_turn() && header_->configuration >= configuration_ && runs &&
        user_.is_alive(OwnedLock::owner_of(asker))) {
        return false;
    }
    header_->asker = OwnedLock::word_of(user_.self);
    header_->configuration = configuration_;
    header_->until = now + length;
    return true;
}

void SharedTopology::leave_turn() noexcept {
    HeldLock held;
    held.acquire(header_->lock, user_);
    if (has_turn()) {
        header_->asker = 0;
    }
}

}  // namespace rate_limit
