// A server may send any bytes, in pieces of any size. A TreeReply stays within its bounds, is the same for
// every size of piece, and what is read from it as an answer about servers makes sense. The first byte of the
// input says how large the pieces are, and whether a command waits for the reply.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/keys/routes.h"
#include "redis/reply.h"
#include "redis/topology/redirect.h"
#include "redis/topology/topology_replies.h"
#include "redis/tree_reply.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::size_t max_replies = 64;
const Endpoint asked{"10.0.0.9", 7009};

/// The parts of a value, for comparison. Counts the values.
std::string text_of(TreeReply::Value value, std::size_t depth, std::size_t& count) {
    require(++count <= TreeReply::max_values);
    require(value.is_array() || (value.count() == 0 && value.begin() == value.end()));
    if (!value.is_array()) {
        require(value.kind() == TreeReply::Kind::integer || value.integer() == 0);
        return std::to_string(static_cast<int>(value.kind())) + ' ' + std::to_string(value.integer()) + ' ' +
               std::string(value.text());
    }
    require(depth < TreeReply::max_depth && value.text().empty() && value.integer() == 0);
    std::string text = "[";
    std::size_t elements = 0;
    for (const TreeReply::Value element : value) {
        text += text_of(element, depth + 1, count) + ',';
        ++elements;
    }
    require(elements == value.count());
    return text + ']';
}

void check_endpoint(const Endpoint& endpoint) {
    require(endpoint.port != 0 && !endpoint.host.empty() && endpoint.host.size() <= 255);
    require(endpoint.host.find_first_of("?[] \"\\\r\n\t") == std::string::npos);
}

void check_endpoints(const std::vector<Endpoint>& endpoints) {
    std::for_each(endpoints.begin(), endpoints.end(), check_endpoint);
    require(std::is_sorted(endpoints.begin(), endpoints.end()));
    require(std::adjacent_find(endpoints.begin(), endpoints.end()) == endpoints.end());
}

void check_cluster_slots(const TreeReply& tree) {
    Topology topology;
    LeftOut left_out;
    if (!read_cluster_slots(tree, asked, topology, &left_out)) {
        require(topology.groups.empty());
        return;
    }
    std::vector<bool> served(slot_count);
    std::vector<Endpoint> primaries;
    for (const Group& group : topology.groups) {
        require(group.name.empty() && group.epoch == 0 && !group.slots.empty());
        primaries.push_back(group.primary);
        check_endpoints(group.replicas);
        require(std::find(group.replicas.begin(), group.replicas.end(), group.primary) ==
                group.replicas.end());
        int behind = -2;  // the last slot of the range before
        for (const SlotRange& range : group.slots) {
            require(range.first <= range.last && range.last < slot_count && range.first > behind + 1);
            behind = range.last;
            for (unsigned slot = range.first; slot <= range.last; ++slot) {
                require(!served[slot]);
                served[slot] = true;
            }
        }
    }
    check_endpoints(primaries);
    Topology again;
    require(decode(encode(topology), again) && again == topology);
}

void check_sentinels(const TreeReply& tree) {
    SentinelMaster master;
    if (read_sentinel_master(tree, master)) {
        check_endpoint(master.address);
    }
    SentinelReplicas replicas;
    std::vector<Endpoint> peers;
    const bool is_list = read_sentinel_replicas(tree, replicas);
    require(read_sentinel_peers(tree, peers) == is_list);
    const auto& [fit, unfit] = replicas;
    require(is_list || (fit.empty() && unfit.empty() && peers.empty()));
    check_endpoints(peers);
    for (const auto* some : {&fit, &unfit}) {
        check_endpoints(*some);
        require(std::includes(peers.begin(), peers.end(), some->begin(), some->end()));
    }
    for (const Endpoint& replica : unfit) {
        require(!std::binary_search(fit.begin(), fit.end(), replica));
    }
}

void check_text(std::string_view text) {
    Replication replication;
    read_replication(text, replication);
    Redirect redirect;
    if (read_redirect(text, asked, redirect)) {
        check_endpoint(redirect.to);
        require(redirect.slot < slot_count);
    }
}

std::string check_reply(const Reply& reply, const TreeReply& tree) {
    require(!tree.is_malformed() || (!tree.is_whole() && tree.root().is_nil()));
    require(tree.is_whole() == !(tree.is_malformed() || reply.stray));
    require(tree.root().is_error() == (tree.is_whole() && reply.is_error()));
    check_cluster_slots(tree);
    check_sentinels(tree);
    check_text(tree.root().text());
    std::size_t count = 0;
    return tree.is_whole() ? text_of(tree.root(), 0, count) : tree.is_malformed() ? "malformed" : "stray";
}

std::vector<std::string> read(std::string_view bytes, std::size_t piece, bool awaited) {
    TreeReply tree;
    Reply reply;
    redisAsyncContext context{};
    redisCallback waiting{};
    context.replies.head = awaited ? &waiting : nullptr;
    reply.context = &context;
    reply.tree = &tree;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader(
        redisReaderCreateWithFunctions(&reply_functions), redisReaderFree);
    reader->privdata = &reply;

    std::vector<std::string> replies;
    while (!bytes.empty()) {
        const std::string_view next = bytes.substr(0, piece);
        bytes.remove_prefix(next.size());
        require(redisReaderFeed(reader.get(), next.data(), next.size()) == REDIS_OK);
        for (void* object = nullptr;; object = nullptr) {
            if (redisReaderGetReply(reader.get(), &object) != REDIS_OK || replies.size() == max_replies) {
                return replies;
            }
            if (object == nullptr) {
                break;
            }
            replies.push_back(check_reply(reply, tree));
        }
    }
    return replies;
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const bool awaited = data[0] < 128;
    const std::size_t piece = data[0] % 128 + 1;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    rate_limit::require(rate_limit::read(bytes, size, awaited) == rate_limit::read(bytes, piece, awaited));
    return 0;
}
