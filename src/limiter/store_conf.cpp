#include "limiter/store_conf.h"

#include <algorithm>
#include <cstring>

#include <strings.h>
#include <sys/un.h>

#include "core/decimal.h"
#include "redis/keys/window_key.h"

namespace rate_limit {

namespace {

const sockaddr_in& inet(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_in&>(address.sockaddr);
}

const sockaddr_in6& inet6(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_in6&>(address.sockaddr);
}

const char* path(const Address& address) noexcept {
    return reinterpret_cast<const sockaddr_un&>(address.sockaddr).sun_path;
}

/// Whether host and port are the same: one of them may have been written without the port.
bool same_name(const NodeConf& a, const NodeConf& b) noexcept {
    return !a.peer.empty() && a.port == b.port && a.peer.size() == b.peer.size() &&
           strncasecmp(a.peer.data(), b.peer.data(), a.peer.size()) == 0;
}

std::string_view prefix_of(const StoreConf* store) noexcept {
    return store != nullptr ? std::string_view(store->prefix) : std::string_view();
}

}  // namespace

bool same_address(const Address& a, const Address& b) noexcept {
    if (a.sockaddr.ss_family != b.sockaddr.ss_family) {
        return false;
    }
    switch (a.sockaddr.ss_family) {
        case AF_INET:
            return inet(a).sin_addr.s_addr == inet(b).sin_addr.s_addr && inet(a).sin_port == inet(b).sin_port;
        case AF_INET6:
            return std::memcmp(&inet6(a).sin6_addr, &inet6(b).sin6_addr, sizeof(in6_addr)) == 0 &&
                   inet6(a).sin6_port == inet6(b).sin6_port;
        case AF_UNIX:
            return std::strncmp(path(a), path(b), sizeof(sockaddr_un::sun_path)) == 0;
        default:
            return a.length == b.length && std::memcmp(&a.sockaddr, &b.sockaddr, a.length) == 0;
    }
}

Address address_of(const sockaddr& socket, socklen_t length) noexcept {
    Address address{};
    std::memcpy(&address.sockaddr, &socket, length);
    address.length = length;
    return address;
}

void set_port(Address& address, in_port_t port) noexcept {
    if (address.sockaddr.ss_family == AF_INET) {
        reinterpret_cast<sockaddr_in&>(address.sockaddr).sin_port = htons(port);
    } else if (address.sockaddr.ss_family == AF_INET6) {
        reinterpret_cast<sockaddr_in6&>(address.sockaddr).sin6_port = htons(port);
    }
}

bool is_same_server(const NodeConf& a, const Address* in_use, const NodeConf& b) noexcept {
    if (a.text == b.text || same_name(a, b)) {
        return true;
    }
    if (in_use == nullptr) {
        return a.addresses.size() == 1 && share_address(a, b);
    }
    return std::any_of(b.addresses.begin(), b.addresses.end(),
                       [in_use](const Address& address) { return same_address(*in_use, address); });
}

bool share_node(const std::vector<NodeConf>& some, const std::vector<NodeConf>& others) noexcept {
    return std::any_of(some.begin(), some.end(), [&others](const NodeConf& one) {
        return std::any_of(others.begin(), others.end(), [&one](const NodeConf& other) {
            return one.text == other.text || share_address(one, other);
        });
    });
}

bool share_primary(const StoreConf& a, const StoreConf& b) noexcept {
    const bool same_sentinels = share_node(a.sentinels, b.sentinels);
    const bool same_cluster = share_node(a.seeds, b.seeds);
    for (const ShardConf& first : a.shards) {
        for (const ShardConf& second : b.shards) {
            if (share_address(first.primary, second.primary) || same_cluster ||
                (first.discovered() && first.master == second.master && same_sentinels)) {
                return true;
            }
        }
    }
    return false;
}

bool join_region(StoreConf& region, StoreConf& home) {
    if (region.shards.size() != home.shards.size()) {
        return false;
    }
    region.name = home.name + "/" + region.region;
    region.routes = Routes(region.name);
    for (std::size_t i = 0; i < home.shards.size(); ++i) {
        const ShardConf& shard = home.shards[i];
        const auto found =
            std::find_if(region.shards.begin(), region.shards.end(), [&shard](const ShardConf& other) {
                return other.name == shard.name && other.weight == shard.weight;
            });
        if (found == region.shards.end()) {
            return false;
        }
        std::swap(region.shards[i], *found);
    }
    for (const ShardConf& shard : region.shards) {
        region.routes.add_shard(shard.name, shard.weight);
    }
    static_cast<StoreTerms&>(region) = home;
    home.region_digest = xxh64(home.region, 0);
    region.home = &home;
    home.elsewhere.push_back(&region);
    return true;
}

std::size_t head_room(const StoreConf* store, std::string_view limit) noexcept {
    return name_of(store).size() + 1 + prefix_of(store).size() + limit.size() + max_window_key_overhead;
}

char* write_head(char* out, const StoreConf* store, std::string_view limit, std::int64_t period,
                 WindowKind kind) noexcept {
    out = append(append(out, name_of(store)), std::string_view("\0", 1));
    return write_window_head(out, prefix_of(store), limit, period, kind);
}

}  // namespace rate_limit
