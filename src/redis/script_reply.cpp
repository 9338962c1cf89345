#include "redis/script_reply.h"

#include <algorithm>
#include <array>
#include <limits>

namespace rate_limit {

namespace {

constexpr Nanos nanos_in_micro = 1000;

/// Microseconds, in the year 2116: so instants that are reckoned from it have room in Nanos.
constexpr std::int64_t latest_told = std::numeric_limits<Nanos>::max() / 2 / nanos_in_micro;

constexpr std::int64_t half = 0xffff'ffff;

bool read_count(const ReplyValue& value, std::int64_t& number) noexcept {
    number = value.integer;
    return value.kind == ReplyValue::Kind::integer && number >= 0;
}

bool can_answer(const Draw& draw, std::int64_t taken, std::int64_t left, Nanos missing) noexcept {
    const std::int64_t lacking = missing / draw.token + (missing % draw.token != 0 ? 1 : 0);
    if (left > draw.fill / draw.token || missing > max_fill || (draw.parts != 0 && lacking < taken)) {
        return false;
    }
    if (draw.want <= 0) {
        return taken == 0;
    }
    if (taken == 0) {
        constexpr std::int64_t by_doubles = 2;  // tokens: the script reckons in doubles
        const std::int64_t there = std::max<Nanos>(0, draw.fill - missing) / draw.token;
        return draw.parts != 0 && left < draw.least && there < draw.least + by_doubles;
    }
    return taken >= draw.least && taken <= draw.want;
}

}  // namespace

Window full_after(Nanos missing, Millis now) noexcept {
    const Nanos at = nanos_of(now) + missing;
    return {at, millis_of(at)};
}

Fault read_draw(const Reply& reply, const Draw& draw, Millis now, Drawn& drawn) noexcept {
    drawn = Drawn{};
    const Fault fault = fault_of_script(reply, words_of_bucket);
    if (fault != Fault::none) {
        return fault;
    }
    std::array<std::int64_t, words_of_bucket> numbers{};
    bool sound = true;
    for (std::size_t i = 0; sound && i < numbers.size(); ++i) {
        sound = read_count(reply.values[i], numbers[i]);
    }
    const auto [taken, left, missing, wait, micros, high, low] = numbers;
    if (!sound || micros > latest_told || (high | low) > half || !can_answer(draw, taken, left, missing)) {
        return Fault::malformed;
    }
    drawn.taken = taken;
    drawn.bucket = full_after(missing, now);
    drawn.told = micros * nanos_in_micro;
    drawn.returned = static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint64_t>(low);
    drawn.receipt = receipt_of({drawn.told, drawn.told, 0}, missing, drawn.returned);
    return Fault::none;
}

Fault read_taking(const Reply& reply, const Taking& taking, Nanos& missing, bool& stored) noexcept {
    constexpr std::int64_t sign = std::numeric_limits<std::int64_t>::min();
    missing = 0;
    stored = false;
    if (reply.is_error()) {
        return fault_of(reply);
    }
    const std::size_t last = taking.filling ? 0 : 1;
    std::int64_t before = 0;
    if (!reply.is_array() || reply.malformed || reply.count != last + 1 ||
        reply.values[last].kind != ReplyValue::Kind::integer ||
        (!taking.filling && !read_count(reply.values[0], before))) {
        return Fault::malformed;
    }
    const std::int64_t after = reply.values[last].integer;
    if (after >= 0) {
        return Fault::none;
    }
    missing = after - sign - taking.latest;
    if (!taking.filling && missing - taking.cost != before) {
        return Fault::malformed;
    }
    stored = true;
    return Fault::none;
}

}  // namespace rate_limit
