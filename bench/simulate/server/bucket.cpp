#include <algorithm>
#include <cmath>

#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {
namespace {

// Numbers are Lua's, with what their 53 bits lose of nanoseconds.
constexpr double half = 4294967296;
constexpr double sign = 2147483648;

/// Lua's operator.
double modulo(double number, double by) noexcept {
    return number - std::floor(number / by) * by;
}

/// The number as struct.pack('>I4') takes it.
std::uint64_t low_half(double number) noexcept {
    const auto bits = number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                                 : static_cast<std::uint64_t>(number);
    return bits & 0xffff'ffffU;
}

std::uint64_t packed(double high, double low) noexcept {
    return low_half(high) << 32 | low_half(low);
}

double high_half(std::uint64_t word) noexcept {
    return static_cast<double>(word >> 32);
}

double low_half(std::uint64_t word) noexcept {
    return static_cast<double>(word & 0xffff'ffffU);
}

/// One call of the script: what its local functions share.
class Drawing {
public:
    Drawing(Call& call, const Draw& draw, Micros told);

    BucketAnswer make();

private:
    void read();
    void put_back(double worth) noexcept;
    void give_back();
    double rest_until_mark() const noexcept;
    void store();
    BucketAnswer refuse();
    double left() const noexcept { return std::floor(std::max(fill_ - missing_, 0.0) / token_); }
    BucketAnswer answer(double taken, double left, double missing, double wait) const noexcept;

    Call& call_;
    const BucketReceipt& receipt_;
    const double token_, fill_, want_, least_, parts_;
    double seconds_ = 0, micros_ = 0, now_high_ = 0, now_low_ = 0;
    double missing_ = 0, longest_ = 0, back_high_ = 0, back_low_ = 0;
    bool beyond_ = false, known_ = false;
};

Drawing::Drawing(Call& call, const Draw& draw, Micros told)
    : call_(call),
      receipt_(draw.receipt),
      token_(static_cast<double>(draw.token)),
      fill_(static_cast<double>(draw.fill)),
      want_(static_cast<double>(draw.want)),
      least_(static_cast<double>(draw.least)),
      parts_(static_cast<double>(draw.parts)) {
    const Micros at = told != asks_for_time ? told : call.clock();
    const std::int64_t seconds = at / 1'000'000;
    const std::int64_t micros = at % 1'000'000;
    seconds_ = static_cast<double>(seconds);
    micros_ = static_cast<double>(micros);
    const double upper = std::floor(seconds_ / 65536) * 1e9;
    now_low_ = modulo(upper, 65536) * 65536 + modulo(seconds_, 65536) * 1e9 + micros_ * 1000;
    now_high_ = std::floor(upper / 65536) + std::floor(now_low_ / half);
    now_low_ = modulo(now_low_, half);
}

void Drawing::put_back(double worth) noexcept {
    missing_ -= worth;
    back_low_ += modulo(worth, half);
    back_high_ = modulo(back_high_ + std::floor(worth / half) + std::floor(back_low_ / half), half);
    back_low_ = modulo(back_low_, half);
}

void Drawing::read() {
    longest_ = fill_;
    back_high_ = modulo(modulo(seconds_, 65536) * 65521 + micros_ * 4294, half);
    back_low_ = now_low_;
    const Value* value = call_.value();
    const auto* bytes = value != nullptr ? std::get_if<BucketBytes>(&value->content) : nullptr;
    if (bytes == nullptr) {
        return;
    }
    const double high = high_half(bytes->full_at);
    const double before = high_half(bytes->longest) * half + low_half(bytes->longest);
    known_ = high >= sign && before > 0 && before <= 946728000000000000.0;
    if (!known_) {
        return;
    }
    missing_ = std::max((high - sign - now_high_) * half + low_half(bytes->full_at) - now_low_, 0.0);
    longest_ = std::max(fill_, before);
    beyond_ = missing_ > 2 * longest_;
    back_high_ = high_half(bytes->returned);
    back_low_ = low_half(bytes->returned);
    if (beyond_) {
        put_back(missing_);
        missing_ = longest_;
    }
}

void Drawing::store() {
    if (missing_ == 0 && !known_) {
        call_.del();
        return;
    }
    double life = std::ceil(missing_ / 1e6) + 60000 + std::floor(longest_ / 16e6);
    if (known_) {
        life = std::max(life, static_cast<double>(call_.pttl()));
    }
    const double low = now_low_ + modulo(missing_, half);
    const double high = sign + now_high_ + std::floor(missing_ / half) + std::floor(low / half);
    const BucketBytes bytes{packed(high, modulo(low, half)),
                            packed(std::floor(longest_ / half), modulo(longest_, half)),
                            packed(back_high_, back_low_)};
    call_.set_px(bytes, lua_integer(life));
}

BucketAnswer Drawing::answer(double taken, double left, double missing, double wait) const noexcept {
    return {lua_integer(taken),
            lua_integer(left),
            lua_integer(missing),
            lua_integer(wait),
            lua_integer(seconds_ * 1e6 + micros_),
            lua_integer(back_high_),
            lua_integer(back_low_)};
}

BucketAnswer Drawing::refuse() {
    const double there = left();
    if (beyond_) {
        store();
    }
    missing_ = std::min(missing_, longest_);
    return answer(0, there, missing_, std::max(missing_ + least_ * token_ - fill_, 0.0));
}

double Drawing::rest_until_mark() const noexcept {
    double high = modulo(high_half(receipt_.mark) - back_high_ - now_high_, half);
    high = high < sign ? high : high - half;
    const double rest = high * half + low_half(receipt_.mark) - back_low_ - now_low_;
    return rest <= 2 * longest_ ? rest : 0;
}

void Drawing::give_back() {
    double worth = want_ * -1 * token_;
    if (receipt_.mark != 0) {
        const Micros taken_at = receipt_.at / 1000;
        const auto at = static_cast<double>(taken_at);
        const double now = seconds_ * 1e6 + micros_;
        const double by_age = at > 0 ? worth - (now - at) * 1000 : 0;
        worth = std::min(worth, std::max({rest_until_mark(), by_age, 0.0}));
    }
    put_back(std::min(worth, missing_));
}

BucketAnswer Drawing::make() {
    read();
    const double there = left();
    if ((want_ == 0 && parts_ > 0) || (call_.is_hash() && want_ <= 0)) {
        return answer(0, there, std::min(missing_, longest_), 0);
    }
    double taken = want_;
    if (want_ > 0 && parts_ > 0) {
        taken = std::min({want_, there, std::max(least_, std::floor(there / parts_))});
        if (taken < least_ || taken == 0) {
            return refuse();
        }
    }
    if (taken < 0) {
        give_back();
    } else {
        missing_ = std::max(missing_, std::min(missing_ + taken * token_, fill_));
    }
    store();
    return answer(std::max(taken, 0.0), left(), std::min(missing_, longest_), 0);
}

}  // namespace

BucketAnswer bucket(Call& call, const Draw& draw, Micros told) {
    return Drawing(call, draw, told).make();
}

}  // namespace rate_limit::simulated
