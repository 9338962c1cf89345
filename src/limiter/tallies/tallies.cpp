#include "limiter/tallies/tallies.h"

#include <algorithm>
#include <new>

#include "limiter/configuration.h"
#include "limiter/store_conf.h"
#include "limiter/zone.h"

namespace rate_limit {

namespace {

constexpr std::string_view local = "local";

/// Calls fn(limit, store, name of the store) for each pair that can decide: a limit whose store is a variable
/// may use any.
template <typename Fn>
void for_each_pair(const Configuration& main, Fn&& fn) {
    for (const Limit* limit : main.limits) {
        if (limit->local) {
            fn(*limit, static_cast<const StoreConf*>(nullptr), local);
        } else if (limit->store != nullptr) {
            fn(*limit, static_cast<const StoreConf*>(limit->store), std::string_view(limit->store->name));
        } else {
            fn(*limit, static_cast<const StoreConf*>(nullptr), local);
            for (const StoreConf* store : main.stores) {
                if (store->home == nullptr) {
                    fn(*limit, store, std::string_view(store->name));
                }
            }
            fn(*limit, static_cast<const StoreConf*>(nullptr), Tallies::no_store);
        }
    }
}

Subject subject_of(const Limit& limit, std::string_view store) noexcept {
    return {store, limit.name, {}};
}

}  // namespace

std::uint64_t limit_digest(std::string_view store, std::string_view limit) noexcept {
    return CounterTable::Name(xxh64(limit, xxh64(store, 0))).value();
}

void PressureGauge::on_evicted(EvictionTier tier) noexcept {
    switch (tier) {
        case EvictionTier::copy:
            counters_.add(Pressure::evicted_copy);
            break;
        case EvictionTier::lease:
            counters_.add(Pressure::evicted_tokens);
            break;
        case EvictionTier::local:
            counters_.add(Pressure::evicted_local);
            break;
        default:
            break;
    }
}

bool Tally::is_of(const Limit& other) const noexcept {
    const bool same_store = other.local              ? store_name == local
                            : other.store != nullptr ? store == other.store
                                                     : true;
    return same_store && other.name == name;
}

Tallies::Tallies(const Configuration& main)
    : requests_(main.zone->counters(), Subject{}),
      pressure_(main.zone->counters()),
      others_{nullptr,
              nullptr,
              no_store,
              no_store,
              limit_digest(no_store, no_store),
              Counters<Decided>(main.zone->counters(), Counters<Decided>::others()),
              RunningCounts::others} {
    main.zone->windows().set_room_listener(&pressure_);
    main.zone->debts().set_room_listener(&pressure_);
    for_each_pair(main, [&](const Limit& limit, const StoreConf* store, std::string_view store_name) {
        auto found = std::find_if(all_.begin(), all_.end(), [&](const Tally& tally) {
            return tally.store_name == store_name && tally.name == limit.name;
        });
        if (found == all_.end()) {
            all_.push_back({&limit, store, store_name, limit.name, limit_digest(store_name, limit.name),
                            Counters<Decided>(main.zone->counters(), subject_of(limit, store_name)),
                            RunningCounts::others});
            found = all_.end() - 1;
        }
        for_each_sort([&](auto sort) {
            using What = decltype(sort);
            if (CountersOf<What>::kept_for(limit) && !found->template of<What>()) {
                found->template of<What>().emplace(main.zone->counters(), subject_of(limit, store_name));
                others_.of<What>().emplace(main.zone->counters(), Counters<What>::others());
            }
        });
        const bool constant = limit.local || limit.store != nullptr;
        limit.tally_without_key =
            static_cast<std::size_t>(found - all_.begin());  // the last pair of a limit counts
        limit.tally = constant ? limit.tally_without_key + 1 : 0;
    });
    for_each_pair(main, [&](const Limit& limit, const StoreConf* /*store*/, std::string_view store_name) {
        const Tally* tally = search(limit, store_name);
        limit.keeps_keys = limit.keeps_keys || (tally != nullptr && tally->of<Penalizing>());
    });
}

void Tallies::for_each_common_name(const std::function<void(CounterTable::Name)>& fn) {
    Counters<Outcome>::for_each_name(Subject{}, fn);
    Counters<Pressure>::for_each_name(Subject{}, fn);
    Counters<Decided>::for_each_name(Counters<Decided>::others(), fn);
}

void Tallies::for_each_name(const Configuration& main, const std::function<void(CounterTable::Name)>& fn) {
    for_each_pair(main, [&](const Limit& limit, const StoreConf* /*store*/, std::string_view store_name) {
        Counters<Decided>::for_each_name(subject_of(limit, store_name), fn);
        for_each_sort([&](auto sort) {
            using Own = Counters<decltype(sort)>;
            if (CountersOf<decltype(sort)>::kept_for(limit)) {
                Own::for_each_name(Own::others(), fn);
                Own::for_each_name(subject_of(limit, store_name), fn);
            }
        });
    });
}

Tally* Tallies::search(const Limit& limit, std::string_view store) noexcept {
    const auto found = std::find_if(all_.begin(), all_.end(), [&](const Tally& tally) {
        return tally.store_name == store && tally.name == limit.name;
    });
    return found != all_.end() ? &*found : nullptr;
}

const Tally* Tallies::others() const noexcept {
    const bool all_fit = std::all_of(all_.begin(), all_.end(), [](const Tally& tally) {
        bool fits = tally.counters.is_whole() &&
                    (tally.limit->kind->is_spent || tally.column != RunningCounts::others);
        for_each_sort([&](auto sort) {
            const auto& own = tally.of<decltype(sort)>();
            fits = fits && (!own || own->is_whole());
        });
        return fits;
    });
    return all_fit ? nullptr : &others_;
}

std::vector<std::uint64_t> Tallies::of_variable_rates() const {
    std::vector<std::uint64_t> digests;
    for (const Tally& tally : all_) {
        if (tally.limit->variable_rate) {
            digests.push_back(tally.digest);
        }
        if (tally.limit->variable_burst) {
            digests.push_back(name_of_bursts(tally.digest));
        }
    }
    return digests;
}

void Tallies::make_columns(Zone& zone) {
    std::vector<Tally*> held;
    std::vector<std::uint64_t> digests;
    for (Tally& tally : all_) {
        if (!tally.limit->kind->is_spent) {
            held.push_back(&tally);
            digests.push_back(tally.digest);
        }
    }
    zone.make_room_for_running(digests);
    for (Tally* tally : held) {
        tally->column = zone.running_counts().find(tally->digest);
    }
}

bool make_tallies(Configuration& main) noexcept {
    try {
        main.tallies = new Tallies(main);
        main.zone->seen_rates().make_room(main.tallies->of_variable_rates());
        main.tallies->make_columns(*main.zone);
        return true;
    } catch (...) {
        return false;
    }
}

}  // namespace rate_limit
