#include <array>
#include <iterator>
#include <new>
#include <string_view>

#include "core/decimal.h"
#include "limiter/kinds/bucket.h"
#include "limiter/kinds/slots.h"
#include "limiter/kinds/window.h"
#include "limiter/request/late_watch.h"
#include "ngx/conf/conf.h"
#include "ngx/conf/key.h"
#include "ngx/conf/parameter.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

/// Which limits take a parameter.
enum class Of : unsigned char { spent, all };

struct Parameter {
    std::string_view name;
    Of of;
    char* (*parse)(ngx_conf_t* cf, ngx_str_t value, LimitLine& limit);

    bool applies_to(const LimitLine& limit) const noexcept { return of == Of::all || limit.kind->is_spent; }
};

template <auto parse, auto member>
char* parse_into(ngx_conf_t* cf, ngx_str_t value, LimitLine& limit) noexcept {
    return parse(cf, value, limit.*member);
}

char* parse_own_name(ngx_conf_t* cf, ngx_str_t value, LimitLine& limit) noexcept {
    limit.named = true;
    return parse_name(cf, value, limit.name);
}

constexpr Parameter parameters[] = {
    {"burst", Of::spent, parse_into<parse_burst_text, &LimitLine::burst_text>},
    {"delay", Of::spent, parse_into<parse_delay, &Limit::delay>},
    {"name", Of::all, parse_own_name},
    {"key", Of::all, parse_into<parse_key, &LimitLine::key>},
    {"window", Of::spent, parse_into<parse_window, &LimitLine::kind>},
    {"store", Of::all, parse_into<parse_store, &LimitLine::store_text>},
    {"mode", Of::spent, parse_into<parse_mode, &Options::mode>},
    {"phase", Of::all, parse_into<parse_phase, &LimitLine::phase>},
    {"cost", Of::spent, parse_into<parse_cost_value, &LimitLine::cost>},
    {"reserve", Of::spent, parse_into<parse_reserve, &LimitLine::reserve>},
    {"exempt", Of::spent, parse_into<parse_exempt, &LimitLine::exempt>},
    {"penalty", Of::spent, parse_into<parse_penalty, &LimitLine::penalty>},
    {"jitter", Of::spent, parse_into<parse_jitter, &LimitLine::jitter>},
    {"headers", Of::spent, parse_into<parse_shown, &LimitLine::hidden>},
    {"dry_run", Of::all, parse_into<parse_dry_run, &LimitLine::dry_run>},
    {"status", Of::all, parse_into<parse_status, &LimitLine::status>},
};

char* refuse_parameter(ngx_conf_t* cf, ngx_str_t text, const LimitLine& limit) noexcept {
    std::array<u_char, 300> names;
    u_char* end = names.data();
    for (const Parameter& known : parameters) {
        if (!known.applies_to(limit)) {
            continue;
        }
        const ngx_str_t name = str(known.name);
        const bool last = &known == std::end(parameters) - 1;  // which all take
        const char* before = end == names.data() ? "" : last ? " and " : ", ";
        end = ngx_slprintf(end, names.data() + names.size(), "%s%V=", before, &name);
    }
    const ngx_str_t known = {static_cast<std::size_t>(end - names.data()), names.data()};
    return refuse(cf, "unknown parameter \"%V\" in \"%V\": it takes %V", &text, &words_of(cf)[0], &known);
}

char* parse_rate_text(ngx_conf_t* cf, ngx_str_t text, LimitLine& limit) noexcept {
    if (compile(cf, text, limit.rate_text) != NGX_OK) {
        return failed;
    }
    limit.variable_rate = !limit.rate_text.is_constant();
    if (limit.variable_rate) {
        return NGX_CONF_OK;
    }
    const RateError error = limit.kind->parse(view(text), limit.kind->window_kind, limit.rate);
    if (error != RateError::none) {
        return refuse_value(cf, limit.kind->amount, text, describe(error));
    }
    auto* digits = static_cast<char*>(ngx_pnalloc(cf->pool, max_number));
    if (digits == nullptr) {
        return failed;
    }
    const char* end = append(digits, limit.rate.limit);
    limit.digits = {digits, static_cast<std::size_t>(end - digits)};
    return NGX_CONF_OK;
}

char* parse_parameter(ngx_conf_t* cf, ngx_uint_t at, LimitLine& limit) noexcept {
    const ngx_str_t text = words_of(cf)[at];
    const std::string_view whole = view(text);
    const auto equals = whole.find('=');
    if (equals == std::string_view::npos) {
        return refuse(cf, "invalid parameter \"%V\" in \"%V\": write NAME=VALUE%s", &text, &words_of(cf)[0],
                      ask_for_semicolon(cf, at));
    }
    if (refuse_inner_quotes(cf, text) != NGX_CONF_OK) {
        return failed;
    }
    for (const Parameter& known : parameters) {
        if (known.name == whole.substr(0, equals) && known.applies_to(limit)) {
            return known.parse(cf, {text.len - equals - 1, text.data + equals + 1}, limit);
        }
    }
    return refuse_parameter(cf, text, limit);
}

/// A location has few lines: comparing the parameter names of one line pairwise needs no table.
bool repeats(const ngx_str_t* words, ngx_uint_t at) noexcept {
    const std::string_view word = view(words[at]);
    const std::string_view name = word.substr(0, word.find('=') + 1);
    for (ngx_uint_t i = 2; i < at; ++i) {
        if (view(words[i]).substr(0, name.size()) == name) {
            return true;
        }
    }
    return false;
}

/// Requests wait for tokens of a bucket, as far as the line can tell.
char* check_delay(ngx_conf_t* cf, const LimitLine& limit) noexcept {
    if (limit.burst_text == nullptr) {
        return refuse(cf,
                      "\"delay=\" in \"rate_limit\" lets requests wait for the tokens of a bucket: add "
                      "\"burst=\", or remove \"delay=\"");
    }
    std::int64_t burst = 0;
    const ngx_str_t text = limit.burst_text->text;
    if (limit.burst_text->is_constant() && parse_burst(view(text), burst) && limit.delay > burst) {
        return refuse(
            cf,
            "\"delay=%L\" in \"rate_limit\" is above \"burst=%V\", so that nothing would wait: write "
            "1 to %V, or \"all\", or remove \"delay=\"",
            limit.delay, &text, &text);
    }
    return NGX_CONF_OK;
}

/// By a burst a token bucket counts. Refuses what does not go with that.
char* choose_kind(ngx_conf_t* cf, LimitLine& limit) noexcept {
    if (limit.burst_text == nullptr) {
        return NGX_CONF_OK;
    }
    const ngx_str_t window = str(limit.kind->name);
    if (limit.kind != token_buckets.without_burst) {
        return refuse(cf,
                      "\"burst=\" makes \"rate_limit\" a token bucket, which has no windows: remove "
                      "\"window=%V\", or \"burst=\"",
                      &window);
    }
    if (limit.Options::mode != nullptr && limit.Options::mode->local_bucket == nullptr) {
        return refuse(cf,
                      "a token bucket is charged before the request: remove \"mode=%s\" from the "
                      "\"rate_limit\" with \"burst=\"",
                      limit.Options::mode->name);
    }
    limit.kind = &token_buckets;
    return NGX_CONF_OK;
}

char* read_line(ngx_conf_t* cf, LimitLine& limit) noexcept {
    const ngx_str_t* words = words_of(cf);
    for (ngx_uint_t i = 2; i < cf->args->nelts; ++i) {
        if (parse_parameter(cf, i, limit) != NGX_CONF_OK) {
            return failed;
        }
        if (repeats(words, i)) {
            return refuse(cf, "duplicate parameter \"%V\" in \"%V\": keep one", &words[i], &words[0]);
        }
    }
    const bool chosen =
        (limit.delay == 0 || check_delay(cf, limit) == NGX_CONF_OK) && choose_kind(cf, limit) == NGX_CONF_OK;
    return chosen ? parse_rate_text(cf, words[1], limit) : failed;
}

/// Reads a limit of this kind, and adds it to the lines of the block; or takes `off`.
char* add_line(ngx_conf_t* cf, ngx_array_t*& lines, const NamedKind& kind, const char* name) noexcept {
    const ngx_str_t* words = words_of(cf);
    const bool off = view(words[1]) == "off";
    const bool written = lines != NGX_CONF_UNSET_PTR;

    if (off && cf->args->nelts > 2) {
        return refuse(cf, "\"%V off\" takes no parameters: remove \"%V\"%s", &words[0], &words[2],
                      ask_for_semicolon(cf, 2));
    }
    if (off ? written : written && lines == nullptr) {
        return refuse(cf, "\"%V off\" stands beside another \"%V\" of the same block: keep one", &words[0],
                      &words[0]);
    }
    if (off) {
        lines = nullptr;
        return NGX_CONF_OK;
    }
    if (!written) {
        lines = ngx_array_create(cf->pool, 2, sizeof(LimitLine));
    }
    auto* limit = lines != nullptr ? push<LimitLine>(*lines) : nullptr;
    void* watch = ngx_palloc(cf->pool, sizeof(LateWatch));
    if (limit == nullptr || watch == nullptr) {
        return failed;
    }
    *limit = LimitLine{};
    limit->watch = new (watch) LateWatch;
    limit->file = cf->conf_file->file.name;
    limit->line = cf->conf_file->line;
    limit->directive = words[0];
    limit->kind = &kind;
    limit->name = name;
    return read_line(cf, *limit);
}

}  // namespace

char* set_rate_limit(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    return add_line(cf, static_cast<LocationConf*>(conf)->lines, first_windows, "default");
}

char* set_concurrency(ngx_conf_t* cf, ngx_command_t* /*command*/, void* conf) noexcept {
    main_conf(cf)->counts_running = true;
    return add_line(cf, static_cast<LocationConf*>(conf)->slot_lines, running_slots, "concurrency");
}

}  // namespace rate_limit
