#include <algorithm>

#include "bench/simulate/server/numbers.h"
#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {
namespace {

bool is_ours_alone(const Hash& fields) noexcept {
    const auto is_ours = [](const Field& field) { return is_number_of_call(field.name); };
    return std::all_of(fields.others().begin(), fields.others().end(), is_ours);
}

}  // namespace

Window refund(Call& call, std::int64_t cost, Millis reset, const Numbered& numbered, Emptied emptied) {
    const bool has_number = numbered.number != 0;
    const std::string mine = has_number ? "r:" + std::string(numbered.me) : std::string{};
    const auto number = static_cast<double>(numbered.number);

    const Hash* fields = call.is_string() ? nullptr : call.hash();
    if (fields == nullptr) {
        return {};
    }
    const std::int64_t count = whole(fields->used);
    if (count < 0 || fields->reset != Text(reset)) {
        return {};
    }
    const auto used = static_cast<double>(count);
    const Millis as_number = lua_integer(static_cast<double>(reset));
    const bool known = has_number && fields->find(mine);
    const double last = known ? all_digits(fields->find(mine)) : 0;
    if (known && last >= number && last <= number + longest_remembered) {
        return {count, as_number};
    }
    const double back = std::min(static_cast<double>(cost), used);
    if (back == used && emptied == Emptied::closes && is_ours_alone(*fields)) {
        call.del();
        return {};
    }
    if (!has_number) {
        const std::int64_t left = back == 0 ? count : call.hincrby_used(-static_cast<std::int64_t>(back));
        return {lua_integer(static_cast<double>(left)), as_number};
    }
    if (!known) {
        forget_old(call, number - longest_remembered);
    }
    call.hset_used(lua_digits(used - back));
    call.hset(mine, Text(numbered.number));
    return {lua_integer(used - back), as_number};
}

}  // namespace rate_limit::simulated
