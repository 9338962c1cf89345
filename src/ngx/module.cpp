#include <algorithm>
#include <utility>

#include "core/address.h"
#include "core/overrides/known_overrides.h"
#include "limiter/log_throttle.h"
#include "limiter/overrides/effect.h"
#include "limiter/overrides/shared_overrides.h"
#include "limiter/store/counter_log.h"
#include "limiter/store/store.h"
#include "limiter/tallies/tallies.h"
#include "limiter/upkeep/upkeep.h"
#include "limiter/wire/health/board_entry.h"
#include "ngx/base/zone_memory.h"
#include "ngx/conf/body_field.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/named_variables.h"
#include "ngx/conf/parameter.h"
#include "ngx/console/console.h"
#include "ngx/finish/finish.h"
#include "ngx/redis_block/redis_block.h"
#include "ngx/request/handlers.h"
#include "ngx/request/request_fields.h"
#include "ngx/request/response_end.h"
#include "ngx/request/response_fields.h"
#include "ngx/topology/topology_memory.h"
#include "operator/figures/minutes.h"

using namespace rate_limit;

namespace {

/// In one piece, so that it is found in the module's file.
constexpr char name_and_version[] = "ngx_http_rate_limit_module "
#include "version.inc"
    ;

constexpr Bounds ipv4_prefix_bounds = {1, ipv4_bits};
constexpr Bounds ipv6_prefix_bounds = {1, ipv6_bits};

ngx_conf_enum_t log_levels[] = {
    {ngx_string("info"), NGX_LOG_INFO},
    {ngx_string("notice"), NGX_LOG_NOTICE},
    {ngx_string("warn"), NGX_LOG_WARN},
    {ngx_string("error"), NGX_LOG_ERR},
    {ngx_null_string, 0},
};

ngx_conf_enum_t on_error_names[] = {
    {ngx_string("allow"), static_cast<ngx_uint_t>(OnError::allow)},
    {ngx_string("deny"), static_cast<ngx_uint_t>(OnError::deny)},
    {ngx_string("local"), static_cast<ngx_uint_t>(OnError::local)},
    {ngx_null_string, 0},
};

/// A directive of http, server and location blocks.
ngx_command_t anywhere(std::string_view name, ngx_uint_t takes,
                       char* (*set)(ngx_conf_t*, ngx_command_t*, void*) noexcept, ngx_uint_t offset = 0,
                       const void* post = nullptr) noexcept {
    return {str(name), NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | takes,
            set,       NGX_HTTP_LOC_CONF_OFFSET,
            offset,    const_cast<void*>(post)};
}

ngx_command_t commands[] = {
    anywhere("rate_limit_key", NGX_CONF_TAKE1, set_option<parse_key, &Options::key>),
    anywhere("rate_limit", NGX_CONF_1MORE, set_rate_limit),
    anywhere("rate_limit_concurrency", NGX_CONF_1MORE, set_concurrency),
    anywhere("rate_limit_store", NGX_CONF_TAKE1, set_option<parse_store, &Options::store_text>),
    anywhere("rate_limit_mode", NGX_CONF_TAKE1, set_option<parse_mode, &Options::mode>),
    anywhere("rate_limit_phase", NGX_CONF_TAKE1, set_choice, offsetof(LocationConf, options.phase),
             phase_names),
    anywhere("rate_limit_cost", NGX_CONF_TAKE1, set_option<parse_cost_value, &Options::cost>),
    anywhere("rate_limit_exempt_status", NGX_CONF_1MORE, set_exempt_status),
    anywhere("rate_limit_dry_run", NGX_CONF_TAKE1, set_option<parse_dry_run, &Options::dry_run>),
    anywhere("rate_limit_lease", NGX_CONF_TAKE1, set_option<parse_lease, &Options::lease>),
    anywhere("rate_limit_bypass", NGX_CONF_1MORE, set_bypass),
    anywhere("rate_limit_headers", NGX_CONF_1MORE, set_headers),
    anywhere("rate_limit_request_field", NGX_CONF_2MORE, set_request_field, 0,
             reinterpret_cast<void*>(request_field_variable)),
    anywhere("rate_limit_response_field", NGX_CONF_2MORE, set_response_field, 0,
             reinterpret_cast<void*>(response_field_variable)),
    anywhere("rate_limit_status", NGX_CONF_TAKE1, set_number, offsetof(LocationConf, status), &status_bounds),
    anywhere("rate_limit_log_level", NGX_CONF_TAKE1, set_choice, offsetof(LocationConf, log_level),
             log_levels),
    anywhere("rate_limit_on_error", NGX_CONF_TAKE1, set_choice, offsetof(LocationConf, on_error),
             on_error_names),
    anywhere("rate_limit_error_status", NGX_CONF_TAKE1, set_number, offsetof(LocationConf, error_status),
             &status_bounds),
    anywhere("rate_limit_ipv4_prefix", NGX_CONF_TAKE1, set_number, offsetof(LocationConf, ipv4_prefix),
             &ipv4_prefix_bounds),
    anywhere("rate_limit_ipv6_prefix", NGX_CONF_TAKE1, set_number, offsetof(LocationConf, ipv6_prefix),
             &ipv6_prefix_bounds),
    {ngx_string("rate_limit_console"), NGX_HTTP_LOC_CONF | NGX_CONF_1MORE, set_console,
     NGX_HTTP_LOC_CONF_OFFSET, 0, reinterpret_cast<void*>(console_handler)},
    {ngx_string("rate_limit_report"), NGX_HTTP_LOC_CONF | NGX_CONF_NOARGS, set_report,
     NGX_HTTP_LOC_CONF_OFFSET, 0, reinterpret_cast<void*>(report_handler)},
    {ngx_string("rate_limit_zone"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, set_zone, NGX_HTTP_MAIN_CONF_OFFSET,
     0, nullptr},
    {ngx_string("rate_limit_redis"), NGX_HTTP_MAIN_CONF | NGX_CONF_BLOCK | NGX_CONF_TAKE1, set_redis_block,
     NGX_HTTP_MAIN_CONF_OFFSET, 0, nullptr},
    ngx_null_command,
};

ngx_int_t add_handler(ngx_http_core_main_conf_t* core, ngx_http_phases phase,
                      ngx_http_handler_pt handler) noexcept {
    auto* slot = push<ngx_http_handler_pt>(core->phases[phase].handlers);
    if (slot == nullptr) {
        return NGX_ERROR;
    }
    *slot = handler;
    return NGX_OK;
}

/// Before the access log is written, so that it can say what the request was charged.
ngx_int_t add_log_handler(ngx_http_core_main_conf_t* core) noexcept {
    if (add_handler(core, NGX_HTTP_LOG_PHASE, log_handler) != NGX_OK) {
        return NGX_ERROR;
    }
    const Elements<ngx_http_handler_pt> handlers(core->phases[NGX_HTTP_LOG_PHASE].handlers);
    std::rotate(handlers.begin(), handlers.end() - 1, handlers.end());
    return NGX_OK;
}

ngx_int_t preconfiguration(ngx_conf_t* cf) noexcept {
    return admit_copy(cf) == NGX_OK ? add_variables(cf) : NGX_ERROR;
}

ngx_int_t postconfiguration(ngx_conf_t* cf) noexcept {
    auto* core =
        static_cast<ngx_http_core_main_conf_t*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_core_module));
    MainConf& main = *main_conf(cf);

    if (add_handler(core, NGX_HTTP_ACCESS_PHASE, access_handler) != NGX_OK ||
        add_handler(core, NGX_HTTP_PRECONTENT_PHASE, precontent_handler) != NGX_OK ||
        add_log_handler(core) != NGX_OK) {
        return NGX_ERROR;
    }
    set_next_header_filter(ngx_http_top_header_filter);
    ngx_http_top_header_filter = header_filter;
    add_response_filter(main);
    add_end_filter(main);
    add_request_filter(main);

    if (check_named_variables(cf, main) != NGX_OK) {
        return NGX_ERROR;
    }
    check_keys(cf, main);
    warn_shared_windows(cf, main);
    tell_time_zone(cf, main);
    warn_unused_stores(cf, main);
    warn_unread_fields(cf, main);
    warn_local_consoles(cf, main);
    if (check_answers(cf, main) != NGX_OK || compare_modes(cf, main) != NGX_OK ||
        reserve_zone(cf, main) != NGX_OK || share_watches(cf, main) != NGX_OK) {
        return NGX_ERROR;
    }
    return finish_stores(cf, main) == NGX_OK ? reserve_topologies(cf, main) : NGX_ERROR;
}

/// Ends what processes make of a configuration before the configuration itself ends. A pool's cleanups run
/// last first: so this comes after all that stores use.
ngx_int_t end_all_with(ngx_cycle_t* cycle) noexcept {
    const auto end = [](void* ended) noexcept {
        auto& main = *static_cast<MainConf*>(ended);
        end_stores(main);
        delete std::exchange(main.overrides, nullptr);
        delete std::exchange(main.tallies, nullptr);
    };
    return call_at_end(*cycle->pool, end, main_conf(cycle));
}

/// nginx calls this in the master process for each configuration that it takes up or only tests.
ngx_int_t init_module(ngx_cycle_t* cycle) noexcept {
    if (ngx_test_config == 0) {
        ngx_log_error(NGX_LOG_NOTICE, cycle->log, 0, "rate limit: %s", name_and_version);
    }
    if (main_conf(cycle) == nullptr && ngx_process == NGX_PROCESS_SINGLE) {
        return keep_running_memory(*cycle);
    }
    mark_replaced(zone_of(cycle));
    if (zone_of(cycle) != nullptr) {
        place_counters(*main_conf(cycle));
        zone_of(cycle)->nodes().begin_configuration(now_millis());
        if (!make_tallies(*main_conf(cycle)) || !make_overrides(*main_conf(cycle))) {
            return NGX_ERROR;
        }
        place_minutes(*main_conf(cycle));
        zone_of(cycle)->offenders().keep_keys(main_conf(cycle)->plain_keys);
    }
    return main_conf(cycle) != nullptr ? end_all_with(cycle) : NGX_OK;
}

/// nginx calls this also in the processes that look after the cache, which serve no requests.
ngx_int_t init_process(ngx_cycle_t* cycle) noexcept {
    if (main_conf(cycle) == nullptr ||
        (ngx_process != NGX_PROCESS_WORKER && ngx_process != NGX_PROCESS_SINGLE)) {
        return NGX_OK;
    }
    if (Zone* zone = zone_of(cycle)) {
        zone->enter_process();
        zone->nodes().begin_worker(worker_number(), now_millis());
    }
    start_stores(*main_conf(cycle));
    // Upkeep starts even without limits: where there is no master process, a reload may bring some.
    start_upkeep(*main_conf(cycle));
    start_shared_watch();
    start_counter_log();
    start_minutes();
    return NGX_OK;
}

/// The worker ends. It closes its connections, or nginx would complain of open sockets.
void exit_process(ngx_cycle_t* cycle) noexcept {
    if (Zone* zone = zone_of(cycle)) {
        zone->leave();  // another worker may be waiting to be the last one
        zone->leave_place();
    }
    if (const MainConf* main = main_conf(cycle)) {
        shut_down_stores(*main);
    }
    if (Zone* zone = zone_of(cycle); zone != nullptr && zone->is_last() && zone->replaced()) {
        log_left_behind(*zone);
    }
    LogThrottle::tell_all_rest();
}

void exit_master(ngx_cycle_t* cycle) noexcept {
    if (Zone* zone = zone_of(cycle)) {
        zone->enter_process();
        log_undelivered(*zone);
    }
}

ngx_http_module_t module_context = {
    preconfiguration, postconfiguration, create_main_conf,     check_store_names,
    nullptr,          nullptr,           create_location_conf, merge_location_conf,
};

}  // namespace

ngx_module_t ngx_http_rate_limit_module = {
    NGX_MODULE_V1, &module_context, commands, NGX_HTTP_MODULE, nullptr,     init_module,
    init_process,  nullptr,         nullptr,  exit_process,    exit_master, NGX_MODULE_V1_PADDING,
};
