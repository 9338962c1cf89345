#include "core/body/number_reader.h"

#include "core/decimal.h"

namespace rate_limit {

namespace {

bool is_e(char c) noexcept {
    return c == 'e' || c == 'E';
}

}  // namespace

bool NumberReader::begin(char c) noexcept {
    state_ = State::minus;
    return c == '-' || take(c);
}

bool NumberReader::take(char c) noexcept {
    switch (state_) {
        case State::minus:
            return is_digit(c) && go(c == '0' ? State::zero : State::digits);
        case State::digits:
            if (is_digit(c)) {
                return true;
            }
            [[fallthrough]];
        case State::zero:
            return c == '.' ? go(State::point) : is_e(c) && go(State::e);
        case State::point:
            return is_digit(c) && go(State::fraction);
        case State::fraction:
            return is_digit(c) || (is_e(c) && go(State::e));
        case State::e:
            if (c == '+' || c == '-') {
                return go(State::sign);
            }
            [[fallthrough]];
        case State::sign:
            return is_digit(c) && go(State::exponent);
        case State::exponent:
            return is_digit(c);
    }
    return false;
}

}  // namespace rate_limit
