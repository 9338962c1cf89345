#include "redis/hold_reply.h"

namespace rate_limit {

namespace {

/// More than all machines together can hold of any limit.
constexpr std::int64_t most_slots = 1'000'000'000'000'000;

bool read_slots(const ReplyValue& value, std::int64_t& number) noexcept {
    number = value.integer;
    return value.kind == ReplyValue::Kind::integer && number >= 0 && number <= most_slots;
}

/// A later call than this one may have wanted anything. This one gets what it wants, but for the slots that
/// run in any case.
bool can_answer(const Hold& call, const Held& held) noexcept {
    if (held.number != call.number) {
        return held.number > call.number;
    }
    return held.mine <= call.want || held.mine < call.least;
}

}  // namespace

Fault read_held(const Reply& reply, const Hold& call, Held& held) noexcept {
    held = Held{};
    const Fault fault = fault_of_script(reply, words_of_hold);
    if (fault != Fault::none) {
        return fault;
    }
    Held found;
    if (!read_slots(reply.values[0], found.mine) || !read_slots(reply.values[1], found.others) ||
        !read_slots(reply.values[2], found.number) || !can_answer(call, found)) {
        return Fault::malformed;
    }
    held = found;
    return Fault::none;
}

}  // namespace rate_limit
