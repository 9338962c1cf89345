#include "core/limit/cost_sum.h"

#include <algorithm>

#include "core/decimal.h"
#include "core/limit/rate.h"
#include "core/value_text.h"

namespace rate_limit {

namespace {

/// From the first character of the factor on that is neither a digit nor of a variable; empty: there is none.
std::string_view find_other(std::string_view factor) noexcept {
    for (ValueText text(factor); !text.at_end();) {
        const ValuePart part = text.next();
        if (part.is_error()) {
            return {};
        }
        const auto* other = std::find_if_not(part.text.begin(), part.text.end(), is_digit);
        if (part.kind == ValuePart::Kind::literal && other != part.text.end()) {
            return factor.substr(static_cast<std::size_t>(other - factor.data()));
        }
    }
    return {};
}

/// Takes the number after a term's `/`. 0: there is none that may stand there.
std::int64_t take_divisor(std::string_view& rest) noexcept {
    std::int64_t divisor = 0;
    rest.remove_prefix(1);
    rest.remove_prefix(read_digits(rest, divisor));
    const bool ends = rest.empty() || rest.front() == '+';
    return ends && divisor <= max_cost ? divisor : 0;
}

}  // namespace

CostError take_factor(std::string_view& rest, CostFactor& factor) noexcept {
    const std::string_view all = rest;
    factor.text = rest.substr(0, rest.find_first_of("+*/"));
    rest.remove_prefix(factor.text.size());
    if (factor.text.empty()) {
        return {"a number or a variable is missing before this", all};
    }
    const std::string_view other = find_other(factor.text);
    if (!other.empty()) {
        return {"it takes digits, variables, \"+\", \"*\" and \"/\", and no spaces",
                all.substr(static_cast<std::size_t>(other.data() - all.data()))};
    }
    factor.divisor = 1;
    if (!rest.empty() && rest.front() == '/') {
        const std::string_view division = rest;
        factor.divisor = take_divisor(rest);
        if (factor.divisor == 0) {
            return {"a whole number from 1 to 1000000000000 follows \"/\", and then \"+\" or nothing",
                    division};
        }
    } else if (!rest.empty() && rest.front() == '*') {
        factor.divisor = 0;
    }
    if (!rest.empty()) {
        rest.remove_prefix(1);
        if (rest.empty()) {
            return {"a number or a variable is missing after this", all.substr(all.size() - 1)};
        }
    }
    return {};
}

CostError count_factors(std::string_view text, std::size_t& count) noexcept {
    CostError error;
    CostFactor factor;
    count = 0;
    do {
        error = take_factor(text, factor);
        ++count;
    } while (error.why == nullptr && !text.empty());
    return error;
}

void CostSum::multiply(std::int64_t factor) noexcept {
    if (factor == 0) {
        product_ = 0;
        too_great_ = false;
    } else if (__builtin_mul_overflow(product_, factor, &product_)) {
        product_ = 1;
        too_great_ = true;
    }
}

void CostSum::end_term(std::int64_t divisor) noexcept {
    const std::int64_t term = product_ / divisor + (product_ % divisor != 0 ? 1 : 0);
    senseless_ = senseless_ || too_great_ || __builtin_add_overflow(sum_, term, &sum_);
    product_ = 1;
    too_great_ = false;
}

bool CostSum::add(std::string_view text, std::int64_t divisor) noexcept {
    std::int64_t number = 0;
    const bool is_number = parse_whole(text, number);
    empty_ = empty_ || text.empty();
    senseless_ = senseless_ || (!is_number && !text.empty());
    multiply(is_number ? number : 1);
    if (divisor != 0) {
        end_term(divisor);
    }
    return is_number || text.empty();
}

CostReading CostSum::read(std::int64_t& cost) const noexcept {
    if (empty_) {
        return CostReading::empty;
    }
    if (senseless_ || sum_ > max_cost) {
        return CostReading::senseless;
    }
    cost = sum_;
    return CostReading::number;
}

}  // namespace rate_limit
