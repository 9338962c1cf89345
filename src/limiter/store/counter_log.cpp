#include "limiter/store/counter_log.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <new>
#include <optional>
#include <string>

#include "limiter/configuration.h"
#include "limiter/loop.h"
#include "limiter/store/store.h"
#include "limiter/store_conf.h"
#include "limiter/tallies/tallies.h"
#include "limiter/wire/health/board_entry.h"
#include "limiter/worker.h"
#include "limiter/zone.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

namespace {

constexpr Msec log_interval = 60'000;

/// First the counters that nothing stands in for, and those that stand in for subjects without room; then
/// what the log tells.
template <typename Fn>
void for_each_name(const Configuration& main, Fn&& fn) noexcept {
    Tallies::for_each_common_name(fn);
    Counters<Loss>::for_each_name(Counters<Loss>::others(), fn);
    Counters<NodeCount>::for_each_name(Counters<NodeCount>::others(), fn);
    for (const StoreConf* store : main.stores) {
        for (const NodeConf& sentinel : store->sentinels) {
            Counters<NodeCount>::for_each_name({store->name, {}, sentinel.text}, fn);
        }
        if (!store->sentinels.empty()) {
            Counters<NodeCount>::for_each_name({store->name, {}, any_node}, fn);
        }
        for (const ShardConf& shard : store->shards) {
            Subject subject{store->name, shard.name, {}};
            Counters<Loss>::for_each_name(subject, fn);
            subject.node = shard.discovered() ? std::string_view(any_node) : shard.primary.text;
            if (!subject.node.empty()) {
                Counters<NodeCount>::for_each_name(subject, fn);
            }
            if (store->home != nullptr) {
                Counters<RegionCount>::for_each_name({store->name, shard.name, {}}, fn);
            }
            for (const NodeConf& replica : shard.replicas) {
                subject.node = replica.text;
                Counters<NodeCount>::for_each_name(subject, fn);
            }
        }
    }
    Tallies::for_each_name(main, fn);
    ShardCounters::for_each_name(Counters<Write>::others(), fn);
    for (const StoreConf* store : main.stores) {
        for (const ShardConf& shard : store->shards) {
            ShardCounters::for_each_name({store->name, shard.name, {}}, fn);
        }
    }
}

using ErrorCounts = std::array<std::uint64_t, node_error_count>;

/// Adds those that are counted for this subject.
void count_errors(CounterTable& table, const Subject& subject, ErrorCounts& sums) noexcept {
    const Counters<NodeCount> counters(table, subject);
    for (std::size_t i = 0; i < node_error_count; ++i) {
        const NodeCount error = count_of(static_cast<NodeError>(i));
        sums[i] += counters.has_place(error) ? counters.count(error) : 0;
    }
}

ErrorCounts errors_of(CounterTable& table, const Subject& subject) noexcept {
    ErrorCounts errors{};
    count_errors(table, subject, errors);
    return errors;
}

/// Errors of all nodes that a shard's servers have named, as far as the zone still knows them.
ErrorCounts errors_of_named(const StoreConf& store, const ShardConf& shard) {
    CounterTable& table = store.zone->counters();
    ErrorCounts errors = errors_of(table, {store.name, shard.name, any_node});
    store.zone->nodes().for_each_of(node_identity({store.name, shard.name, {}}), 0, now_millis(),
                                    [&](const NodeBoard::Told& node) {
                                        count_errors(table, {store.name, shard.name, node.address}, errors);
                                    });
    return errors;
}

/// The sums that one line tells.
class CounterLine {
public:
    void add_waiting(std::uint64_t windows) noexcept { waiting_ += windows; }

    void add(const Counters<Loss>& losses) noexcept {
        dropped_ += dropped(losses);
        expired_ += losses.count(Loss::expired);
        charges_ += losses.count(Loss::charges_in_doubt);
        refunds_ += losses.count(Loss::refunds_in_doubt);
        reservations_ += losses.count(Loss::reservations_in_doubt);
    }

    void add(const char* node, const std::string& address, const ErrorCounts& errors) {
        const char* separator = ": ";
        for (std::size_t i = 0; i < node_error_count; ++i) {
            if (errors[i] == 0) {
                continue;
            }
            if (*separator == ':') {
                nodes_.append("; ").append(node).append(address);
            }
            nodes_.append(separator).append(to_string(static_cast<NodeError>(i))).append(" ");
            nodes_.append(std::to_string(errors[i]));
            separator = ", ";
        }
    }

    std::string text() const {
        std::string text = "charges of " + std::to_string(waiting_) + " windows waiting, " +
                           std::to_string(dropped_) + " dropped, " + std::to_string(charges_) + " in doubt";
        if (refunds_ != 0 || reservations_ != 0) {
            text += "; in doubt: " + std::to_string(refunds_) + " refunds, " + std::to_string(reservations_) +
                    " reservations";
        }
        if (expired_ != 0) {
            text += "; " + std::to_string(expired_) + " expired";
        }
        return text + nodes_;
    }

    /// False: nothing has happened yet.
    bool has_any() const noexcept {
        return (waiting_ | dropped_ | expired_ | charges_ | refunds_ | reservations_) != 0 || !nodes_.empty();
    }

private:
    std::uint64_t waiting_ = 0;  // windows
    std::uint64_t dropped_ = 0;
    std::uint64_t expired_ = 0;
    std::uint64_t charges_ = 0;  // in doubt, as the next two
    std::uint64_t refunds_ = 0;
    std::uint64_t reservations_ = 0;
    std::string nodes_;
};

/// Writes the line unless some worker wrote the same one last; `first` has the note of that.
void write(const char* store, Millis zone_made, const CounterLine& line, Counters<Loss>& first) {
    const std::string text = line.text();
    if (!first.tell(line.has_any() ? xxh64(text, 1) : 0)) {
        return;
    }
    const auto made = static_cast<std::time_t>(zone_made / 1000);
    std::tm since{};
    localtime_r(&made, &since);
    log_line(process_log(), LogLevel::notice,
             "rate limit: counters of \"%s\" since %4d/%02d/%02d %02d:%02d:%02d: %s", store,
             since.tm_year + 1900, since.tm_mon + 1, since.tm_mday, since.tm_hour, since.tm_min, since.tm_sec,
             text.c_str());
}

/// Windows whose charges wait for this shard.
std::uint64_t waiting_for(const StoreConf& store, std::size_t shard) noexcept {
    return count_waiting(store.zone->debt_counts(), store.routes, static_cast<Route>(shard),
                         Routes::all_parts);
}

/// `others` collects what has no counters of its own.
void tell_store(CounterTable& table, const StoreConf& store, CounterLine& others) {
    CounterLine line;
    std::optional<Counters<Loss>> first;  // the first shard's that has counters of its own
    for (const NodeConf& sentinel : store.sentinels) {
        line.add("sentinel ", sentinel.text, errors_of(table, {store.name, {}, sentinel.text}));
    }
    if (!store.sentinels.empty()) {
        line.add("other sentinels", {}, errors_of(table, {store.name, {}, any_node}));
    }
    for (std::size_t i = 0; i < store.shards.size(); ++i) {
        const ShardConf& shard = store.shards[i];
        const Counters<Loss> losses(table, {store.name, shard.name, {}});
        if (losses.has_place(Loss::expired)) {
            line.add(losses);
            line.add_waiting(waiting_for(store, i));
            first = first ? first : losses;
        } else {
            others.add_waiting(waiting_for(store, i));
        }
        const auto add_node = [&](const char* role, const NodeConf& node) {
            line.add(role, node.text, errors_of(table, {store.name, shard.name, node.text}));
        };
        if (shard.discovered()) {
            line.add(shard.in_cluster ? "nodes of the " : "nodes of ", shard.name,
                     errors_of_named(store, shard));
            continue;
        }
        if (shard.names_primary()) {
            add_node("primary ", shard.primary);
        }
        for (const NodeConf& replica : shard.replicas) {
            add_node("replica ", replica);
        }
    }
    if (first) {
        write(store.name.c_str(), store.zone->since(), line, *first);
    }
}

void tell(const Configuration& main) {
    CounterTable& table = main.zone->counters();
    CounterLine others;
    for (const StoreConf* store : main.stores) {
        tell_store(table, *store, others);
    }
    Counters<Loss> losses(table, Counters<Loss>::others());
    others.add(losses);
    others.add("any node", {}, errors_of(table, Counters<NodeCount>::others()));
    write("*", main.zone->since(), others, losses);
}

void on_timer(void* self) noexcept;

struct CounterLog {
    static constexpr WorkerPart part = WorkerPart::counter_log;

    Timer timer{this, on_timer, Timer::Worker::leaves};
};

/// The configuration at work is asked for each time: without a master process a reload keeps this process.
void on_timer(void* self) noexcept {
    if (is_leaving()) {
        return;
    }
    Msec wait = log_interval;
    const Configuration* main = configuration_at_work();
    if (main != nullptr && main->zone != nullptr && !main->stores.empty()) {
        const auto now = ticks_now();
        if (main->zone->counters().take_turn(now, log_interval)) {
            try {
                tell(*main);
            } catch (...) {
                // without memory: the next turn tells it
            }
        }
        wait = std::max<Msec>(1, main->zone->counters().pause(now, log_interval));
    }
    static_cast<CounterLog*>(self)->timer.set(wait);
}

}  // namespace

void place_counters(const Configuration& main) noexcept {
    CounterTable::Naming naming(main.zone->counters());
    naming.begin();
    for_each_name(main, [&](CounterTable::Name name) { naming.keep(name); });
    main.zone->nodes().for_each_name(now_millis(),
                                     [&](std::uint64_t name) { naming.keep(CounterTable::Name(name)); });
    for_each_name(main, [&](CounterTable::Name name) { naming.add(name); });
}

void start_counter_log() noexcept {
    Worker::current().part<CounterLog>().timer.set(1);
}

}  // namespace rate_limit
