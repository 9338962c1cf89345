#include "redis/topology/topology_replies.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <system_error>
#include <utility>

#include "redis/keys/routes.h"
#include "redis/server_words.h"
#include "redis/topology/redirect.h"

namespace rate_limit {
namespace {

using Value = TreeReply::Value;

void sort_once(std::vector<Endpoint>& endpoints) {
    std::sort(endpoints.begin(), endpoints.end());
    endpoints.erase(std::unique(endpoints.begin(), endpoints.end()), endpoints.end());
}

/// Takes out of the second list what is in the first; both are sorted.
void remove(const std::vector<Endpoint>& one, std::vector<Endpoint>& other) {
    other.erase(std::remove_if(other.begin(), other.end(),
                               [&one](const Endpoint& endpoint) {
                                   return std::binary_search(one.begin(), one.end(), endpoint);
                               }),
                other.end());
}

/// Gathers the lines of CLUSTER SLOTS.
class ClusterSlots {
public:
    explicit ClusterSlots(const Endpoint& asked)
        : asked_(asked), read_(places), owners_(slot_count, nullptr) {}

    /// Takes in a line: first slot, last slot, primary, replicas. False if it is none.
    bool add(Value line) {
        if (line.count() < 3) {
            return false;
        }
        auto at = line.begin();
        std::uint16_t first = 0;
        std::uint16_t last = 0;
        if (!slot(*at, first) || !slot(*++at, last)) {
            return false;
        }
        ReadLine& read = find_read(line);
        if (read.group == nullptr) {
            read.group = read_nodes(line);
        }
        return read.group != nullptr && give(first, last, read.group);
    }

    Topology finish() {
        for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
            if (owners_[slot] != nullptr) {
                append(owners_[slot]->slots, slot);
            }
        }
        Topology topology;
        for (auto& [primary, group] : groups_) {
            sort_once(group.replicas);
            topology.groups.push_back(std::move(group));
        }
        return topology;
    }

    LeftOut left_out() const noexcept {
        const auto portless = static_cast<std::size_t>(std::count_if(
            unknown_.begin(), unknown_.end(), [](const auto& node) { return node.second == 0; }));
        return {unknown_.size() - portless, portless};
    }

private:
    static constexpr std::size_t places = 4096;
    static constexpr std::size_t tries = 4;

    struct ReadLine {
        Value line;
        Group* group = nullptr;  // that its nodes are of; null: they are not read yet, or none
    };

    static TreeReply::Iterator nodes_of(Value line) noexcept { return ++ ++line.begin(); }

    static bool same_nodes(Value line, Value other) noexcept {
        return std::equal(nodes_of(line), line.end(), nodes_of(other), other.end());
    }

    /// One that names the same nodes; or else a place for this one, perhaps that of another. Whoever chooses
    /// texts whose hashes are equal has some lines read again.
    ReadLine& find_read(Value line) noexcept {
        const Value primary = *nodes_of(line);
        const std::int64_t port = primary.count() < 2 ? 0 : (++primary.begin())->integer();
        const std::size_t first =
            std::hash<std::string_view>()(primary.texts()) + static_cast<std::size_t>(port);
        for (std::size_t i = 0; i < tries; ++i) {
            ReadLine& read = read_[(first + i) % places];
            if (read.group != nullptr && same_nodes(read.line, line)) {
                return read;
            }
            if (read.group == nullptr) {
                read.line = line;
                return read;
            }
        }
        return read_[first % places] = {line, nullptr};
    }

    Group* read_nodes(Value line) {
        auto at = nodes_of(line);
        Endpoint primary;
        const Announced leads = node(*at, primary);
        if (leads == Announced::wrong) {
            return nullptr;
        }
        Group* const group = leads == Announced::known ? &groups_[primary] : &unserved_;
        group->primary = std::move(primary);
        for (++at; at != line.end(); ++at) {
            Endpoint replica;
            const Announced follows = node(*at, replica);
            if (follows == Announced::wrong) {
                return nullptr;
            }
            if (follows == Announced::known && replica != group->primary) {
                group->replicas.push_back(std::move(replica));
            }
        }
        return group;
    }

    static bool slot(Value value, std::uint16_t& slot) noexcept {
        slot = static_cast<std::uint16_t>(value.integer());
        return value.kind() == TreeReply::Kind::integer && value.integer() >= 0 &&
               value.integer() < slot_count;
    }

    /// A node is an array of host, port, and in all but the oldest servers its id and more.
    Announced node(Value value, Endpoint& endpoint) {
        if (value.count() < 2) {
            return Announced::wrong;
        }
        auto at = value.begin();
        const Value host = *at;
        const Value port = *++at;
        if ((!host.is_text() && !host.is_nil()) || port.kind() != TreeReply::Kind::integer) {
            return Announced::wrong;
        }
        const Announced announced = read_announced(host.text(), port.integer(), asked_, endpoint);
        if (announced == Announced::unknown) {
            unknown_.emplace(++at == value.end() ? std::string_view() : at->text(), port.integer());
        }
        return announced;
    }

    /// False if one of the slots has an owner already, or there are none.
    bool give(std::uint16_t first, std::uint16_t last, Group* group) noexcept {
        for (unsigned slot = first; slot <= last; ++slot) {
            if (owners_[slot] != nullptr) {
                return false;
            }
            owners_[slot] = group;
        }
        return first <= last;
    }

    const Endpoint& asked_;
    /// By the texts and the port of a line's primary: where slots lie scattered thousands of lines name the
    /// same nodes.
    std::vector<ReadLine> read_;
    std::map<Endpoint, Group> groups_;
    Group unserved_;              // slots of all primaries that are not known
    std::vector<Group*> owners_;  // by slot; null: none is named
    std::set<std::pair<std::string_view, std::int64_t>> unknown_;  // ids and ports
};

/// Whether this is a list of names and values, one after the other.
bool is_fields(Value list) {
    return list.is_array() && list.count() % 2 == 0 &&
           std::all_of(list.begin(), list.end(), [](Value value) { return value.is_text(); });
}

/// The value of the first field that has one of these names; empty if there is none.
std::string_view field(Value list, std::initializer_list<std::string_view> names) {
    for (auto at = list.begin(); at != list.end(); ++at) {
        const std::string_view name = at->text();
        ++at;
        if (std::find(names.begin(), names.end(), name) != names.end()) {
            return at->text();
        }
    }
    return {};
}

/// Whether a list like `master,o_down` has the word.
bool has(std::string_view flags, std::string_view word) noexcept {
    while (!flags.empty()) {
        const std::size_t comma = flags.find(',');
        if (flags.substr(0, comma) == word) {
            return true;
        }
        flags.remove_prefix(comma == std::string_view::npos ? flags.size() : comma + 1);
    }
    return false;
}

/// Reads a number that fits the type. False for anything else, also a sign or a plus.
template <typename Number>
bool read_number(std::string_view text, Number& number) noexcept {
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    return error == std::errc() && stop == end;
}

/// False where the fields name no host and port to connect to.
bool read_address(Value fields, Endpoint& endpoint) {
    std::uint16_t port = 0;
    return read_number(field(fields, {"port"}), port) &&
           read_announced(field(fields, {"ip"}), port, {}, endpoint) == Announced::known;
}

/// Whether the replica belongs to the primary, and is there for clients.
bool is_announced(Value replica) {
    const std::string_view role = field(replica, {"role-reported"});
    return (role == "slave" || role == "replica") &&
           field(replica, {"replica-announced", "slave-announced"}) != "0";
}

bool is_healthy(Value replica) {
    const std::string_view flags = field(replica, {"flags"});
    return !has(flags, "s_down") && !has(flags, "o_down") && !has(flags, "disconnected") &&
           field(replica, {"master-link-status", "primary-link-status"}) == "ok";
}

bool is_fit(Value replica) {
    return is_announced(replica) && is_healthy(replica);
}

bool is_unfit(Value replica) {
    return is_announced(replica) && !is_healthy(replica);
}

/// Reads an array of field lists: the endpoints of those that are wanted.
bool read_endpoints(const TreeReply& reply, bool (*wanted)(Value), std::vector<Endpoint>& endpoints) {
    endpoints.clear();
    const Value root = reply.root();
    if (!root.is_array() || !std::all_of(root.begin(), root.end(), is_fields)) {
        return false;
    }
    for (const Value fields : root) {
        Endpoint endpoint;
        if (wanted(fields) && read_address(fields, endpoint)) {
            endpoints.push_back(std::move(endpoint));
        }
    }
    sort_once(endpoints);
    return true;
}

}  // namespace

bool read_cluster_slots(const TreeReply& reply, const Endpoint& asked, Topology& topology,
                        LeftOut* left_out) {
    topology = Topology{};
    const Value root = reply.root();
    ClusterSlots slots(asked);
    if (!root.is_array() ||
        !std::all_of(root.begin(), root.end(), [&slots](Value line) { return slots.add(line); })) {
        return false;
    }
    topology = slots.finish();
    if (left_out != nullptr) {
        *left_out = slots.left_out();
    }
    return true;
}

bool read_sentinel_master(const TreeReply& reply, SentinelMaster& master) {
    const Value root = reply.root();
    master = SentinelMaster{};
    if (!is_fields(root) || !read_address(root, master.address) ||
        !read_number(field(root, {"config-epoch"}), master.config_epoch)) {
        return false;
    }
    const std::string_view flags = field(root, {"flags"});
    master.failing_over = has(flags, "failover_in_progress");
    std::uint16_t others = 0;
    if (read_number(field(root, {"num-other-sentinels"}), others)) {
        master.sentinels = others + 1U;
    }
    return !flags.empty();
}

bool read_sentinel_replicas(const TreeReply& reply, SentinelReplicas& replicas) {
    replicas = SentinelReplicas{};
    const bool read =
        read_endpoints(reply, is_fit, replicas.fit) && read_endpoints(reply, is_unfit, replicas.unfit);
    remove(replicas.fit, replicas.unfit);
    return read;
}

bool read_sentinel_peers(const TreeReply& reply, std::vector<Endpoint>& peers) {
    return read_endpoints(
        reply, [](Value) { return true; }, peers);
}

bool read_replication(std::string_view info, Replication& replication) noexcept {
    const std::string_view role = info_value(info, "role");
    replication.primary = role == "master" || role == "primary";
    replication.replicas = 0;
    for (const char* name : {"connected_slaves", "connected_replicas"}) {
        const std::string_view number = info_value(info, name);
        std::from_chars(number.data(), number.data() + number.size(), replication.replicas);
    }
    replication.guarded = !info_value(info, "min_slaves_good_slaves").empty() ||
                          !info_value(info, "min_replicas_good_replicas").empty();
    replication.empty = !replication.primary && info_value(info, "master_link_status") == "down" &&
                        info_value(info, "slave_repl_offset") == "0";
    replication.id = info_value(info, "master_replid");
    return replication.primary || role == "slave" || role == "replica";
}

}  // namespace rate_limit
