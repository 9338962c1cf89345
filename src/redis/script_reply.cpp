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

/// The fault in the reply of a script whose elements are all numbers from 0 on.
Fault fault_of_counts(const Reply& reply, std::size_t words) noexcept {
    const Fault fault = fault_of_script(reply, words);
    const bool sound = std::all_of(reply.values.begin(), reply.values.begin() + words,
                                   [](const ReplyValue& value) { return value.is_count(); });
    return fault != Fault::none || sound ? fault : Fault::malformed;
}

/// Whether lua/reserve.lua can give this answer to what it was asked.
bool can_answer(const ReserveCall& call, std::int64_t granted, const Window& window) noexcept {
    const bool open = is_open(window, call.period, call.at);
    if (granted == 0) {
        const bool refused =
            call.want == 0 || call.wanted_before != 0 || window.used > call.limit - call.least;
        return refused && (open || (window.used == 0 && window.reset == 0));
    }
    if (call.wanted_before != 0 && open && granted <= std::min(call.wanted_before, window.used)) {
        return true;
    }
    return open && granted >= call.least && granted <= std::min(call.want, window.used) &&
           window.used <= call.limit;
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

/// More than all machines together can hold of any limit.
constexpr std::int64_t most_slots = 1'000'000'000'000'000;

/// A later call than this one may have wanted anything. This one gets what it wants, but for the slots that
/// run in any case.
bool can_answer(const Hold& call, const Held& held) noexcept {
    if (std::max({held.mine, held.others, held.number}) > most_slots) {
        return false;
    }
    if (held.number != call.number) {
        return held.number > call.number;
    }
    return held.mine <= call.want || held.mine < call.least;
}

}  // namespace

bool replaced_another_type(const Reply& reply, std::size_t words) noexcept {
    return reply.is_array() && !reply.malformed && reply.count == words + 1 &&
           reply.values[words].kind == ReplyValue::Kind::integer && reply.values[words].integer == 1;
}

bool stored_without_expiry(const Reply& reply) noexcept {
    return reply.is_error() && reply.text_view().find("stored without an expiry") != std::string_view::npos;
}

Fault fault_of_script(const Reply& reply, std::size_t words) noexcept {
    return fault_of_array(reply, replaced_another_type(reply, words) ? words + 1 : words);
}

Fault read_charge(const Reply& reply, Window& window) noexcept {
    const Fault fault = fault_of_counts(reply, words_of_charge);
    window = fault == Fault::none ? Window{reply.values[0].integer, reply.values[1].integer} : Window{};
    return fault;
}

Fault read_raise(const Reply& reply, std::int64_t least, Window& window, std::int64_t& raised) noexcept {
    const Fault fault = fault_of_counts(reply, words_of_raise);
    const std::int64_t more = reply.values[2].integer;
    const bool sound = fault == Fault::none && more <= std::min(least, reply.values[0].integer);
    window = sound ? Window{reply.values[0].integer, reply.values[1].integer} : Window{};
    raised = sound ? more : 0;
    return sound || fault != Fault::none ? fault : Fault::malformed;
}

Fault read_reserve(const Reply& reply, const ReserveCall& call, std::int64_t& granted,
                   Window& window) noexcept {
    const Fault fault = fault_of_counts(reply, words_of_reserve);
    const Window stored = {reply.values[1].integer, reply.values[2].integer};
    const bool sound = fault == Fault::none && can_answer(call, reply.values[0].integer, stored);
    granted = sound ? reply.values[0].integer : 0;
    window = sound ? stored : Window{};
    return sound || fault != Fault::none ? fault : Fault::malformed;
}

Window full_after(Nanos missing, Millis now) noexcept {
    const Nanos at = nanos_of(now) + missing;
    return {at, millis_of(at)};
}

Fault read_draw(const Reply& reply, const Draw& draw, Millis now, Told& told) noexcept {
    told = Told{};
    const Fault fault = fault_of_counts(reply, words_of_bucket);
    if (fault != Fault::none) {
        return fault;
    }
    std::array<std::int64_t, words_of_bucket> numbers{};
    std::transform(reply.values.begin(), reply.values.begin() + words_of_bucket, numbers.begin(),
                   [](const ReplyValue& value) { return value.integer; });
    const auto [taken, left, missing, wait, micros, high, low] = numbers;
    if (micros > latest_told || (high | low) > half || !can_answer(draw, taken, left, missing)) {
        return Fault::malformed;
    }
    told.granted = taken;
    told.window = full_after(missing, now);
    told.wrote = missing > 0;
    told.clock = micros * nanos_in_micro;
    told.returned = static_cast<std::uint64_t>(high) << 32 | static_cast<std::uint64_t>(low);
    told.receipt = receipt_of({told.clock, told.clock, 0}, missing, told.returned);
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
    if (!reply.is_array() || reply.malformed || reply.count != last + 1 ||
        reply.values[last].kind != ReplyValue::Kind::integer ||
        (!taking.filling && !reply.values[0].is_count())) {
        return Fault::malformed;
    }
    const std::int64_t after = reply.values[last].integer;
    if (after >= 0) {
        return Fault::none;
    }
    const Nanos left = after - sign - taking.latest;
    if (!taking.filling && left - taking.cost != reply.values[0].integer) {
        return Fault::malformed;
    }
    missing = left;
    stored = true;
    return Fault::none;
}

Fault read_penalty(const Reply& reply, Millis now, ToldPenalty& told) noexcept {
    const Fault fault = fault_of_counts(reply, words_of_penalty);
    const Millis left = reply.values[0].integer;
    const bool sound = fault == Fault::none && left <= longest_penalty + max_skew;
    told = sound && left > 0 ? ToldPenalty{now + left, false}
                             : ToldPenalty{0, sound && reply.values[1].integer != 0};
    return sound || fault != Fault::none ? fault : Fault::malformed;
}

Fault read_penalty_check(const Reply& reply, Millis now, ToldPenalty& told) noexcept {
    const Fault fault = fault_of_array(reply, 1);
    const bool said = fault == Fault::none && reply.values[0].is_count();
    const Millis until = said ? reply.values[0].integer : 0;
    const bool runs = until > now && until <= now + longest_penalty + max_skew;
    told = {runs ? until : 0, said && until == 0};
    return fault == Fault::wrongtype ? Fault::none : fault;
}

Fault read_held(const Reply& reply, const Hold& call, Held& held) noexcept {
    const Fault fault = fault_of_counts(reply, words_of_hold);
    const Held found = {reply.values[0].integer, reply.values[1].integer, reply.values[2].integer};
    const bool sound = fault == Fault::none && can_answer(call, found);
    held = sound ? found : Held{};
    return sound || fault != Fault::none ? fault : Fault::malformed;
}

}  // namespace rate_limit
