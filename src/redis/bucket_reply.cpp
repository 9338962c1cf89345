#include "redis/bucket_reply.h"

#include <limits>

#include "core/limit/bucket.h"

namespace rate_limit {

namespace {

constexpr Nanos nanos_in_micro = 1000;

/// Microseconds: instants that are later have no room in Nanos.
constexpr std::int64_t latest_told = std::numeric_limits<Nanos>::max() / nanos_in_micro;

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
        return draw.parts != 0 && left < draw.least;
    }
    return taken >= draw.least && taken <= draw.want;
}

}  // namespace

Window full_after(Nanos missing, Millis now) noexcept {
    const Nanos at = nanos_of(now) + missing;
    return {at, millis_of(at)};
}

Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken, Window& bucket,
                Nanos& told) noexcept {
    told = 0;
    taken = 0;
    bucket = Window{};
    if (reply.is_error()) {
        return fault_of(reply);
    }
    std::int64_t given = 0;
    std::int64_t left = 0;
    std::int64_t missing = 0;
    std::int64_t wait = 0;
    std::int64_t micros = 0;
    const bool sound = reply.is_array() && !reply.malformed && reply.count == 5 &&
                       read_count(reply.values[0], given) && read_count(reply.values[1], left) &&
                       read_count(reply.values[2], missing) && read_count(reply.values[3], wait) &&
                       read_count(reply.values[4], micros);
    if (!sound || micros > latest_told || !can_answer(draw, given, left, missing)) {
        return Fault::malformed;
    }
    taken = given;
    bucket = full_after(missing, now);
    told = micros * nanos_in_micro;
    return Fault::none;
}

Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken,
                Window& bucket) noexcept {
    Nanos told = 0;
    return read_draw(reply, draw, now, taken, bucket, told);
}

Fault read_taking(const Reply& reply, const Taking& taking, Nanos& missing, bool& stored) noexcept {
    constexpr std::int64_t mark = std::numeric_limits<std::int64_t>::min();
    missing = 0;
    stored = false;
    if (reply.is_error()) {
        return fault_of(reply);
    }
    std::int64_t before = 0;
    if (!reply.is_array() || reply.malformed || reply.count != 2 || !read_count(reply.values[0], before) ||
        reply.values[1].kind != ReplyValue::Kind::integer) {
        return Fault::malformed;
    }
    const std::int64_t after = reply.values[1].integer;
    if (after >= 0) {
        return Fault::none;
    }
    missing = after - mark - taking.now;
    if (missing - taking.cost != before) {
        return Fault::malformed;
    }
    stored = true;
    return Fault::none;
}

}  // namespace rate_limit
