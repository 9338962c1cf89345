#pragma once

#include "core/limit/cost_sum.h"
#include "ngx/base/ngx.h"

namespace rate_limit {

/// A text of the configuration that may hold variables. It lives in the configuration's pool, with its parts.
struct Value {
    /// nginx would compile all of it into one program, in which an expression that one variable tries changes
    /// the `$1` of another part. So the parts are kept apart, and each is fetched by itself.
    struct Part {
        enum class Kind : ngx_uint_t { literal, variable, capture };

        Kind kind;
        ngx_uint_t index;   // a variable's index in nginx, or a capture's number
        ngx_str_t literal;  // empty, unless it is one
        bool of_end;        // a variable that nginx knows only when the request ends, though it keeps what it
                            // has said before
    };

    ngx_str_t text;     // the text as written
    const Part* parts;  // null: a constant
    ngx_uint_t count;
    bool of_end;     // one of its parts is
    bool too_early;  // a variable in it is known to have no value when limits are checked: where the value
                     // decides then, the configuration has warned

    bool is_constant() const noexcept { return parts == nullptr; }
};

/// A cost: a value, or a sum of products of values (core/limit/cost_sum.h), of which it has the text and the
/// parts. It lives as a value does.
struct CostValue : Value {
    struct Factor {
        Value value;
        std::int64_t divisor;  // CostFactor's
    };

    const Factor* factors;  // null: it is no sum
    ngx_uint_t factor_count;
};

/// evaluate_value() of a value that is no constant.
ngx_int_t evaluate_parts(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept;

/// The value for the request, in memory that lives as long as the request does. Captures of the request stay
/// as they were, `$1` of its location for example, whatever expressions of maps are tried. Takes no memory
/// for a constant, nor for a single variable or capture. NGX_ERROR without memory.
inline ngx_int_t evaluate_value(ngx_http_request_t* r, const Value& value, ngx_str_t& text) noexcept {
    if (value.is_constant()) {
        text = value.text;
        return NGX_OK;
    }
    return evaluate_parts(r, value, text);
}

/// The cost for the request. `number` is written where it is one. Else `text` is for the log: what is no
/// number, or the sum that is too great. Without memory it is senseless.
CostReading read_cost(ngx_http_request_t* r, const CostValue& cost, std::int64_t& number,
                      ngx_str_t& text) noexcept;

}  // namespace rate_limit
