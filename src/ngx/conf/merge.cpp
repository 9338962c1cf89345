#include <algorithm>
#include <map>
#include <new>
#include <tuple>

#include "core/limit/bucket.h"
#include "core/limit/rate.h"
#include "limiter/modes/mode.h"
#include "limiter/store_conf.h"
#include "ngx/conf/body_field.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

template <typename Kind = Value>
Kind* constant_value(ngx_conf_t* cf, const char* text) noexcept {
    auto* value = static_cast<Kind*>(ngx_pcalloc(cf->pool, sizeof(Kind)));
    if (value != nullptr) {
        value->text = str(text);
    }
    return value;
}

bool same_text(const Value& a, const Value& b) noexcept {
    return view(a.text) == view(b.text);
}

/// Whether two limits of one location would name the same window, as far as the configuration can tell.
bool same_window(const LimitLine& a, const LimitLine& b) noexcept {
    const bool same = !a.variable_rate && !b.variable_rate ? same_period(a.rate, b.rate)
                                                           : same_text(a.rate_text, b.rate_text);
    return a.kind == b.kind && (same || !a.kind->has_period) && a.name == b.name &&
           same_text(*a.store_text, *b.store_text) && same_text(a.key->value, b.key->value);
}

void resolve_store(ngx_conf_t* cf, LimitLine& limit) noexcept {
    const MainConf& main = *main_conf(cf);
    if (!limit.store_text->is_constant()) {
        for (StoreConf* store : main.stores) {
            store->used = true;
        }
        return;
    }
    if (view(limit.store_text->text) == "local") {
        limit.local = true;
        return;
    }
    limit.store = find_store(main, view(limit.store_text->text));  // check_store_names() has found it
    limit.store->used = true;
}

/// Takes over from `outer` what is not said, if that has it.
void inherit(Options& options, const Options& outer) noexcept {
    const auto take = [&](auto member) {
        options.*member = options.*member == Options{}.*member ? outer.*member : options.*member;
    };
    take(&Options::key);
    take(&Options::store_text);
    take(&Options::mode);
    take(&Options::lease);
    take(&Options::phase);
    take(&Options::cost);
    take(&Options::exempt);
    take(&Options::dry_run);
}

/// A token bucket is charged before the request: a mode that charges after it counts as not said.
ngx_int_t resolve_burst(ngx_conf_t* cf, LimitLine& limit) noexcept {
    if (limit.burst_text == nullptr) {
        return NGX_OK;
    }
    const NamedMode* const* mode = named_modes;
    while (limit.Limit::mode->local_bucket == nullptr) {
        limit.Limit::mode = *mode++;
    }
    limit.variable_burst = !limit.burst_text->is_constant();
    if (!limit.variable_burst) {
        (void)parse_burst(view(limit.burst_text->text), limit.burst);  // the directive has seen that it can
    }
    const bool constant = !limit.variable_rate && !limit.variable_burst && limit.rate.limit != 0;
    const char* const wrong = constant ? why_no_bucket(limit.rate, limit.burst) : nullptr;
    return wrong == nullptr ? NGX_OK : refuse_merged(cf, "%s in %V:%ui", wrong, &limit.file, limit.line);
}

/// The directive has seen that it is one; meaningless where it holds a variable.
std::int64_t constant_cost_of(const CostValue& cost) noexcept {
    std::int64_t number = 1;
    ngx_str_t text;
    if (cost.is_constant()) {
        (void)read_cost(nullptr, cost, number, text);  // constants ask no request
    }
    return number;
}

/// Each request takes one slot, whatever directives of the block say of costs. False without memory.
bool take_one_slot(ngx_conf_t* cf, LimitLine& limit) noexcept {
    limit.cost = constant_value<CostValue>(cf, "1");
    limit.exempt = make<StatusSet>(*cf->pool);
    return limit.cost != nullptr && limit.exempt != nullptr;
}

/// A reservation is charged before the request.
ngx_int_t check_reserve(ngx_conf_t* cf, const LimitLine& limit) noexcept {
    if (limit.reserve == nullptr || limit.Limit::mode->local.needs_cost()) {
        return NGX_OK;
    }
    return refuse_merged(
        cf,
        "\"reserve=\" is charged before the request, and \"mode=%s\" charges after it: write "
        "\"mode=charge_refund\" or \"mode=lease\", or remove \"reserve=\" in %V:%ui",
        limit.Limit::mode->name, &limit.file, limit.line);
}

/// A queue is one of tokens that its store hands out one by one, not in batches.
ngx_int_t check_queue(ngx_conf_t* cf, const LimitLine& limit) noexcept {
    if (limit.delay == 0 || limit.Limit::mode == &charge_refund_mode) {
        return NGX_OK;
    }
    return refuse_merged(
        cf,
        "\"delay=\" does not go with \"mode=%s\", where machines take tokens in advance, out of turn: write "
        "\"mode=charge_refund\", or remove \"delay=\" from \"rate_limit\" in %V:%ui",
        limit.Limit::mode->name, &limit.file, limit.line);
}

ngx_int_t check_regions(ngx_conf_t* cf, const LimitLine& limit) noexcept {
    const bool has_regions = limit.store != nullptr && limit.store->has_regions();
    const char* const unfit = has_regions ? why_not_over_regions(limit) : nullptr;
    return unfit == nullptr
               ? NGX_OK
               : refuse_merged(
                     cf, "\"%V\" counts in \"rate_limit_redis %s\", which has regions, and %s in %V:%ui",
                     &limit.directive, limit.store->name.c_str(), unfit, &limit.file, limit.line);
}

/// Writes once for all requests what the texts begin with that identify its windows, where neither its rate
/// or burst nor its store is a variable. NGX_ERROR without memory.
ngx_int_t keep_head(ngx_conf_t* cf, LimitLine& limit) noexcept {
    const bool constant = !limit.variable_rate && !limit.variable_burst;
    if (!constant || (!limit.local && limit.store == nullptr)) {
        return NGX_OK;
    }
    auto* text = static_cast<char*>(ngx_pnalloc(cf->pool, head_room(limit.store, limit.name)));
    if (text == nullptr) {
        return NGX_ERROR;
    }
    const char* end = write_head(text, limit.store, limit.name, limit.rate.period,
                                 limit.kind_at(limit.rate, limit.burst != 0));
    limit.head = {text, static_cast<std::size_t>(end - text)};
    return NGX_OK;
}

/// Completes a limit: what its line does not say comes from the directives of the block where it is in
/// effect.
ngx_int_t resolve(ngx_conf_t* cf, const LocationConf& conf, LimitLine& line, LimitLine& limit) noexcept {
    limit = line;
    limit.written = &line;
    inherit(limit, conf.options);
    limit.Limit::mode = limit.kind->mode != nullptr ? limit.kind->mode : limit.Options::mode;
    limit.enforced = limit.dry_run.value != nullptr ? Enforced::by_a_variable
                     : limit.dry_run.on != 0        ? Enforced::dry_run
                                                    : Enforced::yes;
    limit.Limit::lease = limit.Options::lease;
    limit.reserves = limit.reserve != nullptr;
    if (limit.key == nullptr) {
        return refuse_merged(
            cf, "\"%V\" has no key: add \"rate_limit_key\" or the parameter \"key=\" to the line in %V:%ui",
            &limit.directive, &limit.file, limit.line);
    }
    if (!limit.kind->is_spent && !take_one_slot(cf, limit)) {
        return NGX_ERROR;
    }
    limit.constant_cost = constant_cost_of(*limit.cost);
    const bool in_access = limit.phase == static_cast<ngx_uint_t>(Phase::access) && !conf.report;
    if (in_access && !line.warned && refers_to(*limit.key, "remote_user")) {
        line.warned = true;
        warn_merged(cf,
                    "the key of \"%V\" uses \"$remote_user\" in the access phase, where the name is not "
                    "verified yet: anyone could %s; add \"phase=precontent\" in %V:%ui",
                    &limit.directive, limit.kind->theft, &limit.file, limit.line);
    }
    resolve_store(cf, limit);
    const bool sound = resolve_burst(cf, limit) == NGX_OK && check_reserve(cf, limit) == NGX_OK &&
                       check_queue(cf, limit) == NGX_OK && check_regions(cf, limit) == NGX_OK;
    return sound ? keep_head(cf, limit) : NGX_ERROR;
}

/// Refuses what cannot stand beside an earlier line of the same location.
ngx_int_t compare(ngx_conf_t* cf, const LocationConf& conf, const LimitLine& limit,
                  const LimitLine& other) noexcept {
    if (same_window(limit, other)) {
        return refuse_merged(
            cf, "\"%V\" in %V:%ui names the same %s as the one in %V:%ui: give one of them another \"name=\"",
            &limit.directive, &limit.file, limit.line, limit.kind->shared, &other.file, other.line);
    }
    const ngx_str_t name = str(limit.name);
    if (limit.kind->is_spent != other.kind->is_spent && limit.name == other.name) {
        return refuse_merged(cf,
                             "\"%V\" in %V:%ui has the same name \"%V\" as the \"%V\" in %V:%ui: give one of "
                             "them another \"name=\"",
                             &limit.directive, &limit.file, limit.line, &name, &other.directive, &other.file,
                             other.line);
    }
    if (conf.report && limit.kind->is_spent && limit.name == other.name) {
        return refuse_merged(
            cf,
            "\"rate_limit\" in %V:%ui has the same name \"%V\" as the one in %V:%ui, and "
            "\"rate_limit_report\" shows one limit of a name: give one of them another \"name=\"",
            &limit.file, limit.line, &name, &other.file, other.line);
    }
    return NGX_OK;
}

/// Resolves the lines of one directive into the limits of the location.
ngx_int_t resolve_lines(ngx_conf_t* cf, LocationConf& conf, const ngx_array_t* lines) noexcept {
    for (LimitLine& line : Elements<LimitLine>(*lines)) {
        auto* limit = push<LimitLine>(*conf.limits);  // which has room: it stays where it is
        if (limit == nullptr || resolve(cf, conf, line, *limit) != NGX_OK ||
            !append(main_conf(cf)->limits, static_cast<const Limit*>(limit))) {
            return NGX_ERROR;
        }
        if (limit->phase == static_cast<ngx_uint_t>(Phase::precontent)) {
            ++conf.precontent_count;
        }
        for (const LimitLine& other : Elements<const LimitLine>(*conf.limits)) {
            if (&other != limit && compare(cf, conf, *limit, other) != NGX_OK) {
                return NGX_ERROR;
            }
        }
    }
    return NGX_OK;
}

/// Windows come before slots: of two limits that reject, the window's rejection lasts longer.
ngx_int_t resolve_limits(ngx_conf_t* cf, LocationConf& conf) noexcept {
    ngx_uint_t count = 0;
    for (const ngx_array_t* lines : {conf.lines, conf.slot_lines}) {
        count += lines != nullptr ? lines->nelts : 0;
    }
    if (count == 0) {
        return NGX_OK;
    }
    conf.limits = ngx_array_create(cf->pool, count, sizeof(LimitLine));
    if (conf.limits == nullptr) {
        return NGX_ERROR;
    }
    for (const ngx_array_t* lines : {conf.lines, conf.slot_lines}) {
        if (lines != nullptr && resolve_lines(cf, conf, lines) != NGX_OK) {
            return NGX_ERROR;
        }
    }
    check_values(cf, conf);
    find_response_costs(cf, conf);
    find_request_fields(conf);
    return NGX_OK;
}

/// Says what no block has said. False without memory.
bool set_defaults(ngx_conf_t* cf, Options& options) noexcept {
    options.store_text = options.store_text != nullptr ? options.store_text : constant_value(cf, "local");
    options.cost = options.cost != nullptr ? options.cost : constant_value<CostValue>(cf, "1");
    options.mode = options.mode != nullptr ? options.mode : named_modes[0];
    ngx_conf_init_uint_value(options.lease, lease_auto);
    ngx_conf_init_uint_value(options.phase, static_cast<ngx_uint_t>(Phase::access));
    ngx_conf_init_value(options.dry_run.on, 0);
    if (options.exempt == nullptr) {
        options.exempt = make<StatusSet>(*cf->pool);
        (void)(options.exempt != nullptr && options.exempt->add("304"));
    }
    return options.store_text != nullptr && options.cost != nullptr && options.exempt != nullptr;
}

}  // namespace

void* create_location_conf(ngx_conf_t* cf) noexcept {
    void* memory = ngx_palloc(cf->pool, sizeof(LocationConf));
    return memory != nullptr ? new (memory) LocationConf : nullptr;
}

char* merge_location_conf(ngx_conf_t* cf, void* parent, void* child) noexcept {
    auto& prev = *static_cast<LocationConf*>(parent);
    auto& conf = *static_cast<LocationConf*>(child);

    inherit(conf.options, prev.options);
    if (!set_defaults(cf, conf.options)) {
        return failed;
    }
    ngx_conf_merge_ptr_value(conf.bypass, prev.bypass, nullptr);
    if (conf.headers == 0) {
        conf.headers = prev.headers == 0 ? headers_github : prev.headers;
    }
    ngx_conf_merge_uint_value(conf.status, prev.status, NGX_HTTP_TOO_MANY_REQUESTS);
    ngx_conf_merge_uint_value(conf.log_level, prev.log_level, NGX_LOG_WARN);
    ngx_conf_merge_uint_value(conf.on_error, prev.on_error, static_cast<ngx_uint_t>(OnError::allow));
    ngx_conf_merge_uint_value(conf.error_status, prev.error_status, NGX_HTTP_SERVICE_UNAVAILABLE);
    ngx_conf_merge_uint_value(conf.ipv4_prefix, prev.ipv4_prefix, 32);
    ngx_conf_merge_uint_value(conf.ipv6_prefix, prev.ipv6_prefix, 64);

    ngx_conf_merge_ptr_value(conf.lines, prev.lines, nullptr);
    ngx_conf_merge_ptr_value(conf.slot_lines, prev.slot_lines, nullptr);
    for (const auto fields : {&LocationConf::response_fields, &LocationConf::request_fields}) {
        conf.*fields = conf.*fields != nullptr ? conf.*fields : prev.*fields;
    }
    if (merge_answer(cf, prev, conf) != NGX_OK) {
        return failed;
    }
    // Nothing is limited where there is a console.
    return conf.console.on || resolve_limits(cf, conf) == NGX_OK ? NGX_CONF_OK : failed;
}

/// Store names that contain variables are compared as text: their values are not known yet.
ngx_int_t compare_modes(ngx_conf_t* cf, const MainConf& main) noexcept {
    // Buckets, slots and windows of one name are three.
    using Name = std::tuple<std::string_view, std::string_view, std::string_view>;
    try {
        std::map<Name, const LimitLine*> first;
        for (const Limit* each : main.limits) {
            const LimitLine& limit = line_of(*each);
            const Name same(view(limit.store_text->text), limit.name, limit.kind->plural);
            const LimitLine& other = *first.emplace(same, &limit).first->second;
            if (limit.Limit::mode != other.Limit::mode) {
                const ngx_str_t name = str(limit.name);
                return refuse_merged(
                    cf,
                    "\"rate_limit\" in %V:%ui has another mode than the one in %V:%ui, but the same store "
                    "and name \"%V\": give them one mode, or one of them another \"name=\"",
                    &limit.file, limit.line, &other.file, other.line, &name);
            }
        }
    } catch (...) {
        return NGX_ERROR;
    }
    return NGX_OK;
}

}  // namespace rate_limit
