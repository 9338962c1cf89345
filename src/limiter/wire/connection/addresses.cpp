#include "limiter/wire/connection/addresses.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace rate_limit {

Addresses::Addresses(const StoreConf& store, const NodeConf& node, Owner& owner)
    : store_(store), node_(node), owner_(owner), all_(node.addresses) {}

const char* Addresses::reason_of_round(const char* reason, bool broke_handshake) noexcept {
    if (broke_handshake) {
        (void)std::snprintf(broken_handshake_, sizeof broken_handshake_, "%s", reason);
    }
    return broken_handshake_[0] != '\0' ? broken_handshake_ : reason;
}

bool Addresses::names(const Address& address) const noexcept {
    return std::any_of(all_.begin(), all_.end(),
                       [&address](const Address& known) { return same_address(known, address); });
}

bool Addresses::resolve() noexcept {
    return resolution_.asking() ||
           (!node_.host.empty() && store_.resolves_again && resolution_.ask(store_, node_.host));
}

void Addresses::on_resolved(const Address* found, std::size_t count) noexcept {
    try {
        if (count != 0) {
            take(found, count);
        }
    } catch (...) {
        // without memory the addresses known so far stay
    }
    owner_.on_resolved();
}

void Addresses::take(const Address* found, std::size_t count) {
    std::vector<Address> all(found, found + count);
    for (Address& address : all) {
        set_port(address, node_.port);
    }
    // The resolver changes the order with each answer; unsorted, trying in turn would miss addresses.
    std::sort(all.begin(), all.end(), [](const Address& a, const Address& b) {
        return std::memcmp(&a.sockaddr, &b.sockaddr, sizeof a.sockaddr) < 0;
    });
    all_.swap(all);
}

}  // namespace rate_limit
