#include "ngx/finish/finish.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <new>
#include <set>
#include <tuple>
#include <type_traits>
#include <utility>

#include "core/overrides/shared_state.h"
#include "limiter/kinds/window.h"
#include "limiter/request/late_watch.h"
#include "ngx/base/zone_memory.h"
#include "ngx/conf/key.h"
#include "ngx/conf/value.h"
#include "ngx/redis_block/store_block.h"

namespace rate_limit {

namespace {

/// In any region of the store.
bool has_host_names(const StoreConf& store) noexcept {
    bool has = false;
    const auto look = [&has](const NodeConf& node) { has = has || !node.host.empty(); };
    for_each_node(store, look);
    for (const StoreConf* region : store.elsewhere) {
        for_each_node(*region, look);
    }
    return has;
}

/// Whether a resolver has name servers: nginx keeps them in an array, Angie in a list.
template <typename Connections>
bool has_servers(const Connections& connections) noexcept {
    if constexpr (std::is_pointer_v<Connections>) {
        return connections != nullptr;
    } else {
        return connections.nelts != 0;
    }
}

/// The running configuration's state of the overrides that machines share by the store of this name; null: it
/// has none, or another copy of the module runs.
SharedState* running_state(std::string_view store) noexcept {
    const auto* const* module = const_cast<const ngx_module_t* const*>(ngx_cycle->modules);
    while (module != nullptr && *module != nullptr && *module != &ngx_http_rate_limit_module) {
        ++module;
    }
    const MainConf* running = module != nullptr && *module != nullptr ? main_conf(ngx_cycle) : nullptr;
    const StoreConf* const found = running != nullptr ? find_store(*running, store) : nullptr;
    return found != nullptr ? found->shared_overrides : nullptr;
}

/// The last good ones hold over a reload, whatever has become of those in Redis.
void inherit_state(const StoreConf& store) noexcept {
    SharedState* before = store.shared_overrides != nullptr ? running_state(store.name) : nullptr;
    if (before != nullptr) {
        store.shared_overrides->inherit(*before);
    }
}

/// Maps memory for what has been told of each shard's primary, and for what workers know of shared overrides,
/// before the workers are started so that all see the same.
ngx_int_t share_flags(ngx_conf_t* cf, const MainConf& main) noexcept {
    std::size_t shards = 0;
    std::size_t states = 0;
    for (const StoreConf* store : main.stores) {
        shards += store->shards.size();
        states += store->shares_overrides ? 1 : 0;
    }
    auto* state = static_cast<SharedState*>(share_memory(
        cf, "rate_limit_flags", states * sizeof(SharedState) + shards * sizeof(PrimaryWarnings)));
    if (state == nullptr) {
        return NGX_ERROR;
    }
    auto* warnings = reinterpret_cast<PrimaryWarnings*>(state + states);
    for (StoreConf* store : main.stores) {
        store->shared_overrides = store->shares_overrides ? state++ : nullptr;
        inherit_state(*store);
        for (ShardConf& shard : store->shards) {
            shard.warned = warnings++;
        }
    }
    return NGX_OK;
}

/// The store and the kind of windows: limits without a name that have both in common count in the same
/// windows for the same period.
using SharedBy = std::tuple<std::string_view, std::string_view>;

bool same_amount(const LimitLine& a, const LimitLine& b) noexcept {
    return !a.variable_rate && !b.variable_rate ? a.rate.limit == b.rate.limit
                                                : same_value(a.rate_text, b.rate_text);
}

bool same_burst(const LimitLine& a, const LimitLine& b) noexcept {
    return a.burst_text == nullptr || (a.burst != 0 && a.burst == b.burst) ||
           same_value(*a.burst_text, *b.burst_text);
}

/// It rejects all, and counts nothing.
bool is_closed(const LimitLine& limit) noexcept {
    return !limit.variable_rate && limit.rate.limit == 0;
}

/// The difference between two limits of one kind and period: what differs, and what that means.
struct Difference {
    const char* what;  // null: there is none
    const char* effect = "each request of either one counts for both";
};

Difference difference(const LimitLine& a, const LimitLine& b) noexcept {
    if (!same_value(a.key->value, b.key->value)) {
        return {"key", "equal values of the two keys are one client to both"};
    }
    return {!same_amount(a, b) ? a.kind->amount : same_burst(a, b) ? nullptr : "burst"};
}

/// Compares each limit with the first of its kind and period. Which periods a variable rate brings nobody
/// knows.
class Comparison {
public:
    explicit Comparison(ngx_log_t* log) noexcept : log_(log) {}

    void take(const LimitLine& limit) {
        const SharedBy kind(view(limit.store_text->text), limit.kind->name);
        if (limit.variable_rate) {
            compare(limit, *variable_.emplace(kind, &limit).first->second);
            const auto constant = constant_.find(kind);
            if (constant != constant_.end()) {
                compare(limit, *constant->second);
            }
            return;
        }
        constant_.emplace(kind, &limit);
        const auto [first, is_first] =
            of_period_.emplace(std::make_tuple(kind, limit.rate.period, limit.rate.calendar), &limit);
        const auto variable = variable_.find(kind);
        if (!is_first) {
            compare(limit, *first->second);
        } else if (variable != variable_.end()) {
            compare(limit, *variable->second);
        }
    }

private:
    void compare(const LimitLine& limit, const LimitLine& other) {
        const Difference found =
            limit.written != other.written ? difference(limit, other) : Difference{nullptr};
        if (found.what == nullptr || !told_.emplace(limit.written, other.written).second ||
            told_.count({other.written, limit.written}) != 0) {
            return;
        }
        ngx_log_error(NGX_LOG_WARN, log_, 0,
                      "\"%V\" in %V:%ui has no name and shares its %s with the one in %V:%ui, whose %s "
                      "differs: %s; give one of them a \"name=\"",
                      &limit.directive, &limit.file, limit.line, limit.kind->plural, &other.file, other.line,
                      found.what, found.effect);
    }

    ngx_log_t* log_;
    std::map<SharedBy, const LimitLine*> constant_;  // the first of the kind
    std::map<SharedBy, const LimitLine*> variable_;  // the first of a variable rate
    std::map<std::tuple<SharedBy, std::int64_t, Calendar>, const LimitLine*> of_period_;
    std::set<std::pair<const LimitLine*, const LimitLine*>> told_;  // lines
};

}  // namespace

ngx_int_t reserve_zone(ngx_conf_t* cf, MainConf& main) noexcept {
    const std::size_t running = running_zone_size();
    if (main.limits.empty() && main.zone_size == NGX_CONF_UNSET_SIZE && running == 0) {
        return NGX_OK;
    }
    // A configuration without limits keeps the running zone, as the next one may need it.
    if (main.limits.empty() && main.zone_size == NGX_CONF_UNSET_SIZE) {
        main.zone_size = running;
    }
    ngx_conf_init_size_value(main.zone_size, Zone::default_size);
    main.zone = ask_for_zone(cf, main.zone_size);
    return main.zone != nullptr ? NGX_OK : NGX_ERROR;
}

ngx_int_t finish_stores(ngx_conf_t* cf, const MainConf& main) noexcept {
    auto* core =
        static_cast<ngx_http_core_loc_conf_t*>(ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
    const bool has_resolver = core->resolver != nullptr && has_servers(core->resolver->connections);
    for (StoreConf* each : main.stores) {
        StoreBlock& store = block_of(*each);
        store.zone = main.zone;
        store.used = store.home != nullptr ? store.home->used : store.used;
        if (has_resolver) {
            store.resolves_again = true;
            store.resolver = core->resolver;
            store.resolver_timeout = core->resolver_timeout;
            ngx_conf_init_msec_value(store.resolver_timeout, 30000);  // http's own is never merged
        } else if (store.home == nullptr && has_host_names(store)) {
            warn_merged(cf,
                        "the host names of \"rate_limit_redis %s\" in %V:%ui are resolved only now: add "
                        "\"resolver\" to \"http\" to have them resolved again when a server moves",
                        store.name.c_str(), &store.file, store.line);
        }
    }
    return main.stores.empty() ? NGX_OK : share_flags(cf, main);
}

void warn_unused_stores(ngx_conf_t* cf, const MainConf& main) noexcept {
    for (const StoreConf* each : main.stores) {
        const StoreBlock* const store = &block_of(*each);
        if (!store->used && store->home == nullptr) {
            warn_merged(cf,
                        "no limit uses \"rate_limit_redis %s\" in %V:%ui: add \"rate_limit_store %s\", or "
                        "limits stay per machine",
                        store->name.c_str(), &store->file, store->line, store->name.c_str());
        }
    }
}

void warn_shared_windows(ngx_conf_t* cf, const MainConf& main) noexcept {
    try {
        Comparison comparison(cf->log);
        for (const Limit* each : main.limits) {
            const LimitLine& limit = line_of(*each);
            if (!limit.named && !is_closed(limit)) {
                comparison.take(limit);
            }
        }
    } catch (...) {
        warn_merged(cf, "no memory to compare limits without a name");
    }
}

void tell_time_zone(ngx_conf_t* cf, const MainConf& main) noexcept {
    const auto local = std::find_if(main.limits.begin(), main.limits.end(),
                                    [](const Limit* limit) { return limit->kind == &local_windows; });
    if (local == main.limits.end()) {
        return;
    }
    const LimitLine& limit = line_of(**local);
    const std::time_t now = ngx_time();
    std::tm parts{};
    std::array<char, 64> zone{};
    (void)localtime_r(&now, &parts);
    (void)std::strftime(zone.data(), zone.size(), "%Z, UTC%z now", &parts);
    ngx_log_error(
        NGX_LOG_NOTICE, cf->log, 0,
        "\"window=local\" in %V:%ui goes by the time zone that nginx runs in (%s): let all machines "
        "that share the limit run in the same",
        &limit.file, limit.line, zone.data());
}

ngx_int_t share_watches(ngx_conf_t* cf, MainConf& main) noexcept {
    if (main.limits.empty()) {
        return NGX_OK;
    }
    auto* told = static_cast<std::atomic<std::uint32_t>*>(
        share_memory(cf, "rate_limit_watches", main.limits.size() * sizeof(std::atomic<std::uint32_t>)));
    if (told == nullptr) {
        return NGX_ERROR;
    }
    for (const Limit* limit : main.limits) {
        LateWatch& watch = *line_of(*limit).watch;
        if (!watch.is_shared()) {
            watch.share(*new (told++) std::atomic<std::uint32_t>(0), main.line_count++);
        }
    }
    return NGX_OK;
}

}  // namespace rate_limit
