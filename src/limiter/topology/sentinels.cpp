#include "limiter/topology/sentinels.h"

#include <algorithm>
#include <cinttypes>
#include <utility>

#include "limiter/topology/topology_source.h"
#include "redis/server_words.h"
#include "redis/topology/topology_replies.h"
#include "redis/tree_reply.h"

namespace rate_limit {

namespace {

/// How often one that says where the master is is also asked for the replicas, in milliseconds.
constexpr Msec replicas_interval = 1000;

/// After how many rounds the sentinels are asked for one another again.
constexpr std::size_t peers_rounds = 20;

/// With those of the configuration. More tell nothing more.
constexpr std::size_t most_sentinels = 32;

void remove(const Endpoint& one, std::vector<Endpoint>& from) {
    from.erase(std::remove(from.begin(), from.end(), one), from.end());
}

}  // namespace

Sentinels::Sentinel::Sentinel(const StoreConf& store, const NodeConf& conf, Node::Listener& listener)
    : subject("sentinel " + conf.text + " of \"" + store.name + "\""),
      learned(conf.learned),
      resolvable(!conf.addresses.empty() || store.resolves_again),
      trouble(subject, "answers what it is asked again"),
      node(store, nullptr, conf, Role::sentinel, listener) {}

Sentinels::Sentinels(const StoreConf& store, TopologySource::Owner& owner)
    : store_(store),
      subject_("the sentinels of \"" + store.name + "\""),
      owner_(owner),
      masters_(store.shards.size()),
      silence_(subject_, "answer again") {}

void Sentinels::ask(const Topology& known, bool /*doubted*/) noexcept {
    try {
        begin_round(known);
    } catch (...) {
        return;  // without memory: the next round may do better
    }
    const bool asked = std::exchange(asked_, false);
    if (asked && !std::exchange(heard_, false) && unanswered_ == 0) {
        silence_.failed("do not answer", "their last word holds");
    }
    for (const std::unique_ptr<Sentinel>& sentinel : all_) {
        if (sentinel->node.load() != 0) {
            continue;  // it owes answers to the round before
        }
        for (std::size_t i = 0; i < store_.shards.size(); ++i) {
            asked_ = true;
            ++unanswered_;
            if (!SentinelQuery::ask(*this, sentinel->node, SentinelQuery::Kind::master, i,
                                    store_.shards[i])) {
                --unanswered_;
            }
        }
    }
}

/// Judges the round before, and forgets it.
void Sentinels::begin_round(const Topology& known) {
    if (all_.empty()) {
        for (const NodeConf& conf : store_.sentinels) {
            add(conf);
        }
    }
    known_.groups.assign(store_.shards.size(), Group{});
    for (std::size_t i = 0; i < store_.shards.size(); ++i) {
        if (const Group* group = find_group(known, store_.shards[i].master, i)) {
            known_.groups[i] = *group;
        }
    }
    ++rounds_;
    const std::size_t sentinels = count_known();
    for (std::size_t i = 0; i < masters_.size(); ++i) {
        judge(i, sentinels);
        masters_[i].votes.clear();
    }
}

void Sentinels::on_answer(SentinelQuery::Kind kind, std::size_t shard, Node& node,
                          const Reply* reply) noexcept {
    if (kind == SentinelQuery::Kind::master) {
        --unanswered_;
    }
    if (reply == nullptr) {
        return;
    }
    node.served();
    try {
        if (complain(node, shard, *reply)) {
            return;
        }
        switch (kind) {
            case SentinelQuery::Kind::master:
                take_master(shard, node, *reply);
                break;
            case SentinelQuery::Kind::replicas:
                take_replicas(shard, *reply);
                break;
            default:
                take_peers(*reply);
                break;
        }
    } catch (...) {
        // without memory: the next round may do better
    }
}

/// Logs an answer that is none. True: there is nothing to take from it.
bool Sentinels::complain(Node& node, std::size_t shard, const Reply& reply) {
    const Fault fault = fault_of(reply);
    Sentinel* sentinel = find(node);
    if (sentinel == nullptr) {
        return true;  // retired
    }
    if (fault == Fault::none) {
        return false;
    }
    const std::string words = server_words("SENTINEL", reply.text_view());
    const std::string_view text = reply.text_view();
    if (text.find("No such master") != std::string_view::npos) {
        sentinel->trouble.failed("cannot be used",
                                 "it knows no master \"" + store_.shards[shard].master +
                                     "\": name it in \"shard\" as \"sentinel monitor\" does",
                                 words);
    } else if (text.find("unknown command") != std::string_view::npos) {
        sentinel->trouble.failed("cannot be used",
                                 "it is no sentinel: name sentinels, which listen on port 26379 by default",
                                 words);
    } else if (node.blame(fault, "SENTINEL", reply, Access::read) == Blame::command) {
        sentinel->trouble.failed("cannot be used", explain(fault), words);
    }
    return true;
}

void Sentinels::take_master(std::size_t shard, Node& node, const Reply& reply) {
    SentinelMaster master;
    Sentinel& sentinel = *find(node);
    if (reply.tree == nullptr || !read_sentinel_master(*reply.tree, master)) {
        sentinel.trouble.failed("cannot be used", "its answer is none of a sentinel: is it one?");
        return;
    }
    sentinel.trouble.ended();
    silence_.ended();
    heard_ = true;
    ask_for_peers(shard, node);
    const Group& group = known_.groups[shard];
    if (master.failing_over && master.config_epoch != group.epoch) {
        return;  // it has the epoch of the next master already, and still the address of this one
    }
    const Address* const by = node.address_in_use();
    if (by == nullptr) {
        return;  // it is being closed
    }
    const Vote vote{*by, master.address, master.config_epoch, master.sentinels};
    std::vector<Vote>& votes = masters_[shard].votes;
    if (std::none_of(votes.begin(), votes.end(),
                     [by](const Vote& other) { return same_address(other.by, *by); })) {
        votes.push_back(vote);
    }
    if (group.primary.port == 0 || master.config_epoch > group.epoch) {
        accept(shard, vote);
    }
    if (group.primary == master.address && group.epoch == master.config_epoch) {
        ask_for_replicas(shard, node);
    }
}

/// Asks a sentinel that knows the present master.
void Sentinels::ask_for_replicas(std::size_t shard, Node& node) noexcept {
    Master& master = masters_[shard];
    if (master.replicas_asked == 0 || msec_now() - master.replicas_asked >= replicas_interval) {
        master.replicas_asked = msec_now();
        SentinelQuery::ask(*this, node, SentinelQuery::Kind::replicas, shard, store_.shards[shard]);
    }
}

void Sentinels::ask_for_peers(std::size_t shard, Node& node) noexcept {
    if (asked_peers_ == 0 || rounds_ - asked_peers_ >= peers_rounds) {
        asked_peers_ = rounds_;
        SentinelQuery::ask(*this, node, SentinelQuery::Kind::peers, shard, store_.shards[shard]);
    }
}

/// How many sentinels are known, each once. One whose name cannot be resolved is known by its address, too,
/// or cannot be asked: those that name it count it.
std::size_t Sentinels::count_known() const noexcept {
    std::size_t count = 0;
    for (auto each = all_.begin(); each != all_.end(); ++each) {
        const Address* const address = (*each)->node.address_in_use();
        const auto is_there = [address](const std::unique_ptr<Sentinel>& other) {
            const Address* const its = other->node.address_in_use();
            return address != nullptr && its != nullptr && same_address(*address, *its);
        };
        if ((*each)->resolvable && std::none_of(all_.begin(), each, is_there)) {
            ++count;
        }
    }
    return count;
}

/// A vote of more than half of all sentinels in this round counts, whatever was known.
void Sentinels::judge(std::size_t shard, std::size_t known) {
    const std::vector<Vote>& votes = masters_[shard].votes;
    for (const Vote& vote : votes) {
        std::size_t count = 0;
        std::size_t all = known;
        for (const Vote& other : votes) {
            if (other.primary == vote.primary && other.epoch == vote.epoch) {
                ++count;
                all = std::max<std::size_t>(all, other.sentinels);
            }
        }
        const Group& group = known_.groups[shard];
        if (2 * count > all && (group.primary != vote.primary || group.epoch != vote.epoch)) {
            accept(shard, Vote(vote));
            return;
        }
    }
}

/// The new master's replicas are those of before, without itself, until the sentinels name them: one that is
/// down, or still thinks that it is the master, they will leave out.
void Sentinels::accept(std::size_t shard, const Vote& vote) {
    Group& group = known_.groups[shard];
    const ShardConf& conf = store_.shards[shard];
    const Endpoint before = std::exchange(group.primary, vote.primary);
    group.name = conf.master;
    group.epoch = vote.epoch;
    remove(vote.primary, group.replicas);
    remove(vote.primary, group.unfit);
    masters_[shard].replicas_asked = 0;
    if (owner_.on_found(known_) && before != vote.primary) {
        log_line(
            process_log(), LogLevel::notice,
            "rate limit: sentinels name %s as the primary of shard \"%s\" of \"%s\", config-epoch %" PRIu64
            "%s%s",
            vote.primary.text().c_str(), conf.name.c_str(), store_.name.c_str(), vote.epoch,
            before.port != 0 ? "; before it was " : "", before.port != 0 ? before.text().c_str() : "");
    }
}

void Sentinels::take_replicas(std::size_t shard, const Reply& reply) {
    SentinelReplicas said;
    if (reply.tree == nullptr || !read_sentinel_replicas(*reply.tree, said)) {
        return;
    }
    Group& group = known_.groups[shard];
    remove(group.primary, said.fit);
    remove(group.primary, said.unfit);
    if (said.fit != group.replicas || said.unfit != group.unfit) {
        group.replicas.swap(said.fit);
        group.unfit.swap(said.unfit);
        owner_.on_found(known_);
    }
}

/// Sentinels that are named and not known yet are asked from the next round on.
void Sentinels::take_peers(const Reply& reply) {
    std::vector<Endpoint> peers;
    if (reply.tree == nullptr || !read_sentinel_peers(*reply.tree, peers)) {
        return;
    }
    std::vector<NodeConf> named;
    named.reserve(peers.size());
    for (const Endpoint& peer : peers) {
        named.push_back(discovered_node(store_, peer));
    }
    forget_gone(named);
    for (const NodeConf& conf : named) {
        const bool known = std::any_of(all_.begin(), all_.end(), [&](const std::unique_ptr<Sentinel>& other) {
            return other->node.is_at(conf);
        });
        if (!known && all_.size() < most_sentinels) {
            add(conf);
        }
    }
}

/// Those that were removed: they would be missed in each vote, and take the places of others.
void Sentinels::forget_gone(const std::vector<NodeConf>& named) {
    for (std::unique_ptr<Sentinel>& sentinel : all_) {
        const Node& node = sentinel->node;
        const bool is_named = std::any_of(named.begin(), named.end(),
                                          [&node](const NodeConf& conf) { return node.is_at(conf); });
        if (sentinel->learned && !node.usable() && !is_named) {
            let_go(sentinel);
        }
    }
    all_.erase(std::remove(all_.begin(), all_.end(), nullptr), all_.end());
}

void Sentinels::add(const NodeConf& conf) {
    all_.push_back(std::make_unique<Sentinel>(store_, conf, static_cast<Node::Listener&>(*this)));
}

Sentinels::Sentinel* Sentinels::find(const Node& node) noexcept {
    const auto found = std::find_if(all_.begin(), all_.end(), [&node](const std::unique_ptr<Sentinel>& each) {
        return &each->node == &node;
    });
    return found != all_.end() ? found->get() : nullptr;
}

/// Leaves null in its place.
void Sentinels::let_go(std::unique_ptr<Sentinel>& sentinel) noexcept {
    const std::size_t before = left_.size();
    try {
        left_.keep(std::move(sentinel));
    } catch (...) {
        sentinel.reset();  // its connection ends at once
    }
    left_.retire_from(before);
}

void Sentinels::hang_up() noexcept {
    for (std::unique_ptr<Sentinel>& sentinel : all_) {
        let_go(sentinel);
    }
    all_.clear();
    for (Master& master : masters_) {
        master = Master{};
    }
    asked_peers_ = 0;
    heard_ = true;
    silence_.ended(asked_by_another);
}

void Sentinels::shut_down() noexcept {
    for (const std::unique_ptr<Sentinel>& sentinel : all_) {
        sentinel->node.shut_down();
    }
    left_.for_each([](Node& node) { node.shut_down(); });
}

}  // namespace rate_limit
