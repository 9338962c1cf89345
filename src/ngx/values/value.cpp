#include "ngx/values/value.h"

#include <algorithm>
#include <array>

#include "core/limit/rate.h"
#include "ngx/values/kept_variables.h"

namespace rate_limit {

namespace {

using PartKind = Value::Part::Kind;

/// The n-th capture of the expression that the request has matched last.
ngx_str_t captured([[maybe_unused]] const ngx_http_request_t* r, [[maybe_unused]] ngx_uint_t n) noexcept {
#if (NGX_PCRE)
    if (2 * n < r->ncaptures) {
        const int begin = r->captures[2 * n];
        const int end = r->captures[2 * n + 1];
        if (begin >= 0 && begin < end) {  // a group that took no part has -1
            return {static_cast<std::size_t>(end - begin), r->captures_data + begin};
        }
    }
#endif
    return ngx_null_string;
}

/// Some variables are evaluated anew for each value that holds them.
void flush(ngx_http_request_t* r, const Value& value) noexcept {
    for (ngx_uint_t i = 0; i < value.count; ++i) {
        if (value.parts[i].kind == PartKind::variable) {
            ngx_http_variable_value_t& variable = r->variables[value.parts[i].index];
            if (variable.no_cacheable != 0 || value.parts[i].of_end) {
                variable.valid = 0;
                variable.not_found = 0;
            }
        }
    }
}

ngx_int_t fetch_variable(ngx_http_request_t* r, ngx_uint_t index, ngx_str_t& text) noexcept {
    const ngx_http_variable_value_t* variable = &r->variables[index];
    if (!is_evaluated(*variable)) {
        const KeptCaptures kept(r);
        if (!kept.all()) {
            return NGX_ERROR;
        }
        variable = ngx_http_get_indexed_variable(r, index);
    }
    text = ngx_null_string;
    if (variable != nullptr && variable->not_found == 0) {
        text = {variable->len, variable->data};
    }
    return NGX_OK;
}

ngx_int_t fetch(ngx_http_request_t* r, const Value::Part& part, ngx_str_t& text) noexcept {
    switch (part.kind) {
        case PartKind::literal:
            text = part.literal;
            return NGX_OK;
        case PartKind::variable:
            return fetch_variable(r, part.index, text);
        case PartKind::capture:
            text = captured(r, part.index);
            return NGX_OK;
    }
    return NGX_ERROR;
}

ngx_int_t join(ngx_pool_t* pool, const ngx_str_t* fetched, ngx_uint_t count, ngx_str_t& text) noexcept {
    std::size_t length = 0;
    for (ngx_uint_t i = 0; i < count; ++i) {
        length += fetched[i].len;
    }
    text.data = static_cast<u_char*>(ngx_pnalloc(pool, length));
    if (text.data == nullptr) {
        return NGX_ERROR;
    }
    u_char* end = text.data;
    for (ngx_uint_t i = 0; i < count; ++i) {
        end = std::copy_n(fetched[i].data, fetched[i].len, end);  // an empty value may have no data
    }
    text.len = length;
    return NGX_OK;
}

}  // namespace

/// The text is built from what was fetched, when no expression runs any more.
ngx_int_t evaluate_parts(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept {
    flush(r, value);
    if (value.count == 1) {
        return fetch(r, value.parts[0], text);
    }
    std::array<ngx_str_t, 12> few;
    ngx_str_t* fetched = few.data();
    if (value.count > few.size()) {
        fetched = static_cast<ngx_str_t*>(ngx_palloc(r->pool, value.count * sizeof(ngx_str_t)));
        if (fetched == nullptr) {
            return NGX_ERROR;
        }
    }
    for (ngx_uint_t i = 0; i < value.count; ++i) {
        if (fetch(r, value.parts[i], fetched[i]) != NGX_OK) {
            return NGX_ERROR;
        }
    }
    return join(r->pool, fetched, value.count, text);
}

namespace {

CostReading evaluate_sum(ngx_http_request_t* r, const CostValue& cost, std::int64_t& number,
                         ngx_str_t& text) noexcept {
    CostSum sum;
    text = cost.text;
    for (ngx_uint_t i = 0; i < cost.factor_count; ++i) {
        ngx_str_t factor = ngx_null_string;
        if (evaluate_value(r, cost.factors[i].value, factor) != NGX_OK) {
            return CostReading::senseless;
        }
        if (!sum.add(view(factor), cost.factors[i].divisor) && text.data == cost.text.data) {
            text = factor;
        }
    }
    return sum.read(number);
}

}  // namespace

CostReading read_cost(ngx_http_request_t* r, const CostValue& cost, std::int64_t& number,
                      ngx_str_t& text) noexcept {
    if (cost.factors != nullptr) {
        return evaluate_sum(r, cost, number, text);
    }
    text = ngx_null_string;
    std::int64_t whole = 0;
    if (evaluate_value(r, cost, text) != NGX_OK) {
        return CostReading::senseless;
    }
    if (text.len == 0) {
        return CostReading::empty;
    }
    if (!parse_cost(view(text), whole)) {
        return CostReading::senseless;
    }
    number = whole;
    return CostReading::number;
}

}  // namespace rate_limit
