#include "ngx/finish/shared_windows.h"

#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "ngx/conf/key.h"
#include "ngx/conf/value.h"

namespace rate_limit {

namespace {

/// The store and the kind of windows: limits without a name that have both in common count in the same
/// windows for the same period.
using Kind = std::tuple<std::string_view, int>;

Kind kind_of(const LimitLine& limit) noexcept {
    const int bucket = limit.burst_text != nullptr ? 1 : 0;
    return {view(limit.store_text->text), 2 * static_cast<int>(limit.window_kind) + bucket};
}

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

/// The difference between two limits of one kind and period; null: there is none.
const char* difference(const LimitLine& a, const LimitLine& b) noexcept {
    if (!same_value(a.key->value, b.key->value)) {
        return "key differs: equal values of the two keys are one client to both";
    }
    if (!same_amount(a, b)) {
        return a.is_slots() ? "number differs: each request of either one counts for both"
                            : "rate differs: each request of either one counts for both";
    }
    return same_burst(a, b) ? nullptr : "burst differs: each request of either one counts for both";
}

/// Compares each limit with the first of its kind and period. Which periods a variable rate brings nobody
/// knows.
class Comparison {
public:
    explicit Comparison(ngx_log_t* log) noexcept : log_(log) {}

    void take(const LimitLine& limit) {
        const Kind kind = kind_of(limit);
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
            of_period_.emplace(std::make_tuple(kind, limit.rate.period, limit.rate.month), &limit);
        const auto variable = variable_.find(kind);
        if (!is_first) {
            compare(limit, *first->second);
        } else if (variable != variable_.end()) {
            compare(limit, *variable->second);
        }
    }

private:
    void compare(const LimitLine& limit, const LimitLine& other) {
        const char* const differs = limit.written != other.written ? difference(limit, other) : nullptr;
        if (differs == nullptr || !told_.emplace(limit.written, other.written).second ||
            told_.count({other.written, limit.written}) != 0) {
            return;
        }
        ngx_log_error(
            NGX_LOG_WARN, log_, 0,
            "\"%V\" in %V:%ui has no name and shares its %s with the one in %V:%ui, whose %s; give one "
            "of them a \"name=\"",
            &limit.directive, &limit.file, limit.line,
            limit.is_slots()              ? "slots"
            : limit.burst_text != nullptr ? "buckets"
                                          : "windows",
            &other.file, other.line, differs);
    }

    ngx_log_t* log_;
    std::map<Kind, const LimitLine*> constant_;  // the first of the kind
    std::map<Kind, const LimitLine*> variable_;  // the first of a variable rate
    std::map<std::tuple<Kind, std::int64_t, bool>, const LimitLine*> of_period_;
    std::set<std::pair<const LimitLine*, const LimitLine*>> told_;  // lines
};

}  // namespace

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
        ngx_log_error(NGX_LOG_WARN, cf->log, 0, "no memory to compare limits without a name");
    }
}

}  // namespace rate_limit
