#include "redis/keys/routes.h"

#include <algorithm>

#include "redis/keys/slot.h"

namespace rate_limit {

Routes::Routes(std::string_view store) noexcept
    : store_(xxh64(store, 0)), base_(xxh64("slots", store_) & ~slot_bits) {}

void Routes::add_shard(std::string_view name, std::uint32_t weight) {
    digests_.push_back(xxh64(name, store_));
    choice_.add(name, weight);
}

std::size_t Routes::size() const noexcept {
    return slotted_ ? slot_count : digests_.size();
}

Route Routes::choose(std::string_view key, std::string_view window_key) const noexcept {
    return slotted_ ? Route{key_slot(window_key)} : static_cast<Route>(choice_.choose(key));
}

bool Routes::find(std::uint64_t digest, Route& route) const noexcept {
    if (slotted_) {
        route = static_cast<Route>(digest & slot_bits);
        return (digest & ~slot_bits) == base_;
    }
    const auto found = std::find(digests_.begin(), digests_.end(), digest);
    route = static_cast<Route>(found - digests_.begin());
    return found != digests_.end();
}

}  // namespace rate_limit
