#include "ngx/conf/parameter.h"

#include "core/decimal.h"
#include "core/limit/bucket.h"
#include "core/limit/cost_sum.h"
#include "core/limit/rate.h"
#include "limiter/configuration.h"
#include "ngx/conf/value.h"

namespace rate_limit {

ngx_conf_enum_t phase_names[] = {
    {ngx_string("access"), static_cast<ngx_uint_t>(Phase::access)},
    {ngx_string("precontent"), static_cast<ngx_uint_t>(Phase::precontent)},
    {ngx_null_string, 0},
};

namespace {

/// The one of this name; null: there is none.
template <typename Named>
const Named* find_named(const Named* const* all, ngx_str_t text) noexcept {
    while (*all != nullptr && (*all)->name != view(text)) {
        ++all;
    }
    return *all;
}

/// `"a", "b" or "c"` after this verb, into the configuration's pool.
template <typename Named>
const char* names_of(ngx_conf_t* cf, const char* verb, const Named* const* all) noexcept {
    constexpr std::size_t most = 500;
    auto* text = static_cast<u_char*>(ngx_pnalloc(cf->pool, most));
    if (text == nullptr) {
        return "";
    }
    u_char* end = ngx_slprintf(text, text + most, "%s ", verb);
    for (const Named* const* known = all; *known != nullptr; ++known) {
        const char* before = known == all ? "" : known[1] != nullptr ? ", " : " or ";
        const ngx_str_t name = str((*known)->name);
        end = ngx_slprintf(end, text + most - 1, "%s\"%V\"", before, &name);
    }
    *end = '\0';
    return reinterpret_cast<const char*>(text);
}

char* refuse_cost(ngx_conf_t* cf, const char* noun, const ngx_str_t& text, const CostError& error) noexcept {
    const ngx_str_t rest = str(error.rest);
    return refuse(
        cf,
        "invalid %s \"%V\" in \"%V\": it is a whole number from 0 to 1000000000000, a variable, or a "
        "sum such as $in*3+$out/4; at \"%V\": %s",
        noun, &text, &words_of(cf)[0], &rest, error.why);
}

/// Keeps the factors of a cost, where it is a sum of more than one. Its value is compiled.
char* compile_sum(ngx_conf_t* cf, const char* noun, CostValue& cost) noexcept {
    std::size_t count = 0;
    std::string_view rest = view(cost.text);
    const CostError error = count_factors(rest, count);
    if (error.why != nullptr) {
        return refuse_cost(cf, noun, cost.text, error);
    }
    CostFactor factor;
    CostSum sum;
    auto* factors = static_cast<CostValue::Factor*>(ngx_pcalloc(cf->pool, count * sizeof(CostValue::Factor)));
    for (std::size_t i = 0; factors != nullptr && i < count; ++i) {
        (void)take_factor(rest, factor);
        if (compile(cf, str(factor.text), factors[i].value) != NGX_OK) {
            return failed;
        }
        factors[i].divisor = factor.divisor;
        if (factors[i].value.is_constant() && !sum.add(factor.text, factor.divisor)) {
            return refuse_cost(cf, noun, cost.text, {"the number is too great", factor.text});
        }
    }
    std::int64_t constant = 0;
    if (cost.is_constant() && sum.read(constant) != CostReading::number) {
        return refuse_cost(cf, noun, cost.text, {"it is too great", view(cost.text)});
    }
    const bool is_sum = count != 1 || factor.text.size() != cost.text.len;
    cost.factors = is_sum ? factors : nullptr;
    cost.factor_count = is_sum ? count : 0;
    return factors != nullptr ? NGX_CONF_OK : failed;
}

/// Null: the error is logged. `noun`: what the text was to be.
CostValue* compiled_cost(ngx_conf_t* cf, const char* noun, ngx_str_t text) noexcept {
    auto* cost = static_cast<CostValue*>(ngx_pcalloc(cf->pool, sizeof(CostValue)));
    const bool sound = cost != nullptr && compile(cf, text, *cost) == NGX_OK &&
                       (text.len == 0 || compile_sum(cf, noun, *cost) == NGX_CONF_OK);
    return sound ? cost : nullptr;
}

}  // namespace

char* parse_name(ngx_conf_t* cf, ngx_str_t text, std::string_view& name) noexcept {
    if (!is_name(view(text), 32)) {
        return refuse_value(cf, "name", text, "a name is 1 to 32 of A-Z a-z 0-9 _ . -");
    }
    name = view(text);
    return NGX_CONF_OK;
}

char* parse_window(ngx_conf_t* cf, ngx_str_t text, const NamedKind*& kind) noexcept {
    const NamedKind* const named = find_named(named_windows, text);
    if (named == nullptr) {
        return refuse_value(cf, "window", text, names_of(cf, "it is", named_windows));
    }
    kind = named;
    return NGX_CONF_OK;
}

char* parse_burst_text(ngx_conf_t* cf, ngx_str_t text, Value*& burst) noexcept {
    burst = compiled(cf, text);
    if (burst == nullptr) {
        return failed;
    }
    std::int64_t constant = 0;
    if (burst->is_constant() && !parse_burst(view(text), constant)) {
        return refuse_value(cf, "burst", text, "it is a whole number from 1 to 1000000000000");
    }
    return NGX_CONF_OK;
}

char* parse_delay(ngx_conf_t* cf, ngx_str_t text, std::int64_t& delay) noexcept {
    delay = 1;
    if (view(text) == "all" || parse_burst(view(text), delay)) {
        return NGX_CONF_OK;
    }
    const bool variable = view(text).find('$') != std::string_view::npos;
    return refuse_value(cf, "delay", text,
                        variable ? "it takes no variables: write \"all\", or a whole number"
                        : view(text) == "0"
                            ? "0 would let every request wait, also one that comes alone: "
                              "write \"all\", by which what is above the rate waits"
                            : "it is \"all\", or how many tokens pass at once: a whole number "
                              "from 1 to that of \"burst=\"");
}

char* parse_mode(ngx_conf_t* cf, ngx_str_t text, const NamedMode*& mode) noexcept {
    mode = find_named(named_modes, text);
    return mode != nullptr ? NGX_CONF_OK : refuse_value(cf, "mode", text, names_of(cf, "it is", named_modes));
}

char* parse_phase(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& phase) noexcept {
    for (const ngx_conf_enum_t* known = phase_names; known->name.len != 0; ++known) {
        if (view(known->name) == view(text)) {
            phase = known->value;
            return NGX_CONF_OK;
        }
    }
    return refuse_value(cf, "phase", text, "it is \"access\" or \"precontent\"");
}

char* parse_store(ngx_conf_t* cf, ngx_str_t text, Value*& store) noexcept {
    if (text.len == 0) {
        return refuse(cf,
                      "empty store in \"%V\": it is \"local\", the name of a \"rate_limit_redis\" block, or "
                      "a variable that holds its name",
                      &words_of(cf)[0]);
    }
    store = compiled(cf, text);
    if (store == nullptr || !store->is_constant()) {
        return store != nullptr ? NGX_CONF_OK : failed;
    }
    auto* name = push<StoreName>(main_conf(cf)->store_names);
    if (name == nullptr) {
        return failed;
    }
    *name = {text, words_of(cf)[0], cf->conf_file->file.name, cf->conf_file->line};
    return NGX_CONF_OK;
}

char* parse_cost_value(ngx_conf_t* cf, ngx_str_t text, CostValue*& cost) noexcept {
    cost = compiled_cost(cf, "cost", text);
    return cost != nullptr ? NGX_CONF_OK : failed;
}

char* parse_reserve(ngx_conf_t* cf, ngx_str_t text, CostValue*& reserve) noexcept {
    reserve = compiled_cost(cf, "reserve", text);
    return reserve != nullptr ? NGX_CONF_OK : failed;
}

char* parse_dry_run(ngx_conf_t* cf, ngx_str_t text, DryRun& dry_run) noexcept {
    if (view(text) == "on" || view(text) == "off") {
        dry_run.on = view(text) == "on";
        return NGX_CONF_OK;
    }
    if (text.len < 2 || text.data[0] != '$') {
        return refuse_value(cf, "dry run", text, "it is \"on\", \"off\" or a variable");
    }
    dry_run.on = 1;
    dry_run.value = compiled(cf, text);
    return dry_run.value != nullptr ? NGX_CONF_OK : failed;
}

char* parse_lease(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& lease) noexcept {
    std::int64_t tokens = 0;
    if (view(text) == "auto") {
        lease = lease_auto;
    } else if (parse_digits(view(text), tokens) && tokens > 0 && tokens <= max_lease) {
        lease = static_cast<ngx_uint_t>(tokens);
    } else {
        return refuse_value(cf, "value", text,
                            "it is \"auto\" or a whole number of tokens from 1 to 1000000000");
    }
    return NGX_CONF_OK;
}

char* parse_jitter(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& jitter) noexcept {
    const ngx_int_t seconds = ngx_parse_time(&text, 1);
    if (seconds < 1 || seconds > max_period) {
        return refuse_value(cf, "jitter", text, "it is a time from 1s to 366d");
    }
    jitter = static_cast<ngx_uint_t>(seconds);
    return NGX_CONF_OK;
}

char* parse_penalty(ngx_conf_t* cf, ngx_str_t text, Millis& penalty) noexcept {
    if (view(text).find('$') != std::string_view::npos) {
        return refuse_value(cf, "penalty", text, "it takes no variables: write a time from 1s to 366d");
    }
    const ngx_int_t seconds = ngx_parse_time(&text, 1);
    if (seconds < 1 || seconds > max_period) {
        return refuse_value(cf, "penalty", text, "it is a time from 1s to 366d");
    }
    penalty = static_cast<Millis>(seconds) * 1000;
    return NGX_CONF_OK;
}

char* parse_shown(ngx_conf_t* cf, ngx_str_t text, bool& hidden) noexcept {
    hidden = view(text) == "off";
    return hidden || view(text) == "on" ? NGX_CONF_OK
                                        : refuse_value(cf, "headers", text, "it is \"on\" or \"off\"");
}

char* parse_status(ngx_conf_t* cf, ngx_str_t text, ngx_uint_t& status) noexcept {
    const ngx_int_t code = ngx_atoi(text.data, text.len);
    if (code < status_bounds.least || code > status_bounds.most) {
        return refuse_value(cf, "status", text, "it is a status code from 400 to 599");
    }
    status = static_cast<ngx_uint_t>(code);
    return NGX_CONF_OK;
}

char* parse_exempt_status(ngx_conf_t* cf, std::string_view text, StatusSet& exempt,
                          const char* question) noexcept {
    if (exempt.add(text)) {
        return NGX_CONF_OK;
    }
    const ngx_str_t shown = str(text);
    return refuse(
        cf,
        "invalid exempt status \"%V\" in \"%V\": it is a status code from 100 to 599, a class such as "
        "4xx, an exception such as !401 or !4xx, or \"off\"%s",
        &shown, &words_of(cf)[0], question);
}

char* parse_exempt(ngx_conf_t* cf, ngx_str_t text, StatusSet*& exempt) noexcept {
    exempt = make<StatusSet>(*cf->pool);
    if (exempt == nullptr) {
        return failed;
    }
    if (view(text) == "off") {
        return NGX_CONF_OK;
    }
    std::string_view rest = view(text);
    for (;;) {
        const auto comma = rest.find(',');
        if (parse_exempt_status(cf, rest.substr(0, comma), *exempt, "") != NGX_CONF_OK) {
            return failed;
        }
        if (comma == std::string_view::npos) {
            return NGX_CONF_OK;
        }
        rest.remove_prefix(comma + 1);
    }
}

}  // namespace rate_limit
