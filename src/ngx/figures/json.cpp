#include "core/text/json_text.h"
#include "ngx/base/zone.h"
#include "ngx/conf/redis_conf.h"
#include "ngx/conf/tallies.h"
#include "ngx/figures/limits.h"
#include "ngx/figures/lower_case.h"
#include "ngx/figures/memory.h"
#include "ngx/figures/minutes.h"
#include "ngx/figures/nodes.h"
#include "ngx/figures/pages.h"
#include "ngx/figures/shards.h"
#include "ngx/figures/top.h"

namespace rate_limit {

namespace {

constexpr std::string_view version =
#include "version.inc"
    ;

void write_requests(JsonText& json, Tallies& tallies) {
    json.name("requests").begin_object();
    for (const Outcome outcome : request_outcomes) {
        json.name(lower_case(to_string(outcome))).count(tallies.requests().count(outcome));
    }
    json.end_object();
}

void write_rates(JsonText& json, const Rates& rates) {
    json.name("rates").begin_array();
    for (const auto& [limit, period] : rates) {
        json.begin_object().name("limit").number(limit).name("period").number(period).end_object();
    }
    json.end_array();
}

void write_limit(JsonText& json, const MainConf& main, const Tally& tally, const Rates& rates) {
    json.begin_object();
    json.name("name").text(tally.name);
    json.name("store").text(tally.store_name);
    json.name("mode").text(tally.limit->mode->name);
    json.name("window").text(tally.limit->window_kind == WindowKind::clock ? "clock" : "first");
    write_rates(json, rates);
    json.name("enforced");
    if (tally.limit->dry_run.value != nullptr) {
        json.null();
    } else {
        json.number(tally.limit->dry_run.on != 0 ? 0 : 100);
    }
    json.name("decisions").begin_object();
    for (const Outcome outcome : decided_outcomes) {
        json.name(lower_case(to_string(outcome))).count(tally.counters.count(decided_of(outcome)));
    }
    json.end_object();
    json.name("unasked").count(tally.counters.count(Decided::unasked));
    json.name("charged").count(tally.counters.count(Decided::cost));
    write_minutes(json, main, tally);
    json.end_object();
}

void write_stores(JsonText& json, const MainConf& main) {
    json.name("stores").begin_array();
    for (const StoreConf* store : Elements<StoreConf*>(main.stores)) {
        if (!store->used) {
            continue;
        }
        json.begin_object().name("name").text(store->name).name("shards").begin_array();
        for (std::size_t i = 0; i < store->shards.size(); ++i) {
            json.begin_object();
            write_shard(json, *store, i);
            write_nodes(json, *store, store->shards[i]);
            json.end_object();
        }
        json.end_array().end_object();
    }
    json.end_array();
}

}  // namespace

std::string write_json(const MainConf& main, const ConsoleConf& console) {
    const auto* core =
        reinterpret_cast<const ngx_core_conf_t*>(ngx_get_conf(ngx_cycle->conf_ctx, ngx_core_module));
    const ngx_str_t host = const_cast<const ngx_cycle_t*>(ngx_cycle)->hostname;
    JsonText json;
    json.begin_object();
    json.name("version").text(version);
    json.name("nginx").text(NGINX_VERSION);
    json.name("host").text(view(host));
    json.name("time").time(now_millis());
    json.name("workers").number(core->worker_processes);
    if (main.zone != nullptr) {
        json.name("since").time(main.zone->counters().since());
        write_requests(json, *main.tallies);
        json.name("limits").begin_array();
        const std::vector<Rates> rates = rates_of(main);
        for (std::size_t i = 0; i < rates.size(); ++i) {
            write_limit(json, main, main.tallies->all()[i], rates[i]);
        }
        json.end_array();
        write_stores(json, main);
        write_memory(json, main);
        write_top(json, main, console.plain_keys);
    }
    json.end_object();
    return json.take() + "\n";
}

}  // namespace rate_limit
