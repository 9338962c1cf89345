#include "redis/bucket_reply.h"

#include "core/limit/bucket.h"

namespace rate_limit {

namespace {

/// lua/bucket.lua lets a key live so many milliseconds longer than the bucket takes to be full.
constexpr Millis outlives = 1000;

/// That time is in whole milliseconds, rounded up.
constexpr Millis rounded = 1;

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

Window full_at(Nanos missing, Millis now) noexcept {
    const Nanos at = nanos_of(now) + missing;
    return {at, millis_of(at)};
}

}  // namespace

Fault read_draw(const Reply& reply, const Draw& draw, Millis now, std::int64_t& taken,
                Window& bucket) noexcept {
    taken = 0;
    bucket = Window{};
    if (reply.is_error()) {
        return fault_of(reply);
    }
    std::int64_t given = 0;
    std::int64_t left = 0;
    std::int64_t missing = 0;
    std::int64_t wait = 0;
    const bool sound = reply.is_array() && !reply.malformed && reply.count == 4 &&
                       read_count(reply.values[0], given) && read_count(reply.values[1], left) &&
                       read_count(reply.values[2], missing) && read_count(reply.values[3], wait);
    if (!sound || !can_answer(draw, given, left, missing)) {
        return Fault::malformed;
    }
    taken = given;
    bucket = full_at(missing, now);
    return Fault::none;
}

Fault read_life(const Reply& reply, Millis now, Window& bucket) noexcept {
    bucket = Window{};
    if (reply.is_error()) {
        return fault_of(reply);
    }
    if (reply.head.type != REDIS_REPLY_INTEGER || reply.malformed) {
        return Fault::malformed;
    }
    const Millis missing = reply.values[0].integer - outlives - rounded;
    if (missing > 0 && missing <= max_fill / nanos_in_milli) {
        bucket = full_at(nanos_of(missing), now);
    }
    return Fault::none;
}

}  // namespace rate_limit
