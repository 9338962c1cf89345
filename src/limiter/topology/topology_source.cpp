#include "limiter/topology/topology_source.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include <arpa/inet.h>

namespace rate_limit {

namespace {

/// The addresses of this host, as they were when the configuration was read. Another server may listen there
/// at another port.
std::vector<Address> configured_addresses(const StoreConf& store, const Endpoint& endpoint) {
    std::vector<Address> addresses;
    for (const auto* nodes : {&store.seeds, &store.sentinels}) {
        for (const NodeConf& node : *nodes) {
            if (node.host == endpoint.host && addresses.empty()) {
                addresses = node.addresses;
            }
        }
    }
    for (Address& address : addresses) {
        set_port(address, endpoint.port);
    }
    return addresses;
}

void append_sorted(std::string& name, std::string_view of, std::vector<std::string_view> words) {
    std::sort(words.begin(), words.end());
    name.append(of);
    for (const std::string_view word : words) {
        name.append(" ").append(word);
    }
}

}  // namespace

/// Neither a store's name nor a master's has spaces.
std::string asked_servers(const StoreConf& store) {
    std::vector<std::string_view> asked;
    std::vector<std::string_view> masters;
    for (const NodeConf& node : store.seeds.empty() ? store.sentinels : store.seeds) {
        asked.emplace_back(node.text);
    }
    for (const ShardConf& shard : store.shards) {
        masters.emplace_back(shard.master);
    }
    std::string name = store.name;
    append_sorted(name, store.seeds.empty() ? ", sentinels" : ", cluster", std::move(asked));
    if (store.seeds.empty()) {
        append_sorted(name, ", masters", std::move(masters));
    }
    return name;
}

NodeConf discovered_node(const StoreConf& store, const Endpoint& endpoint) {
    NodeConf node;
    node.text = endpoint.text();
    node.peer = endpoint.host;
    node.port = endpoint.port;
    node.learned = true;
    Address address{};
    auto& inet = reinterpret_cast<sockaddr_in&>(address.sockaddr);
    auto& inet6 = reinterpret_cast<sockaddr_in6&>(address.sockaddr);
    if (inet_pton(AF_INET, endpoint.host.c_str(), &inet.sin_addr) == 1) {
        inet.sin_family = AF_INET;
        inet.sin_port = htons(endpoint.port);
        address.length = sizeof inet;
    } else if (inet_pton(AF_INET6, endpoint.host.c_str(), &inet6.sin6_addr) == 1) {
        inet6.sin6_family = AF_INET6;
        inet6.sin6_port = htons(endpoint.port);
        address.length = sizeof inet6;
    } else {
        node.host = endpoint.host;
        if (!store.resolves_again) {
            node.addresses = configured_addresses(store, endpoint);
        }
        return node;
    }
    node.addresses.push_back(address);
    return node;
}

}  // namespace rate_limit
