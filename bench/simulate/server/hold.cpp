#include <algorithm>
#include <string>
#include <vector>

#include "bench/simulate/server/scripts.h"

namespace rate_limit::simulated {
namespace {

/// A field: what a machine holds.
struct Entry {
    std::int64_t slots = 0;
    Millis deadline = 0;
    std::int64_t number = 0;
};

Entry read(const Text& text, Millis now) {
    constexpr std::size_t too_long = 16;
    constexpr double most_slots = 1e12;
    constexpr double furthest = 1e13;
    Triple words;
    if (!read_triple(text, words) || words.first.size() >= too_long || words.second.size() >= too_long ||
        words.third.size() >= too_long) {
        return {};
    }
    const double slots = number_of(words.first);
    const double number = number_of(words.third);
    if (slots > most_slots || number > static_cast<double>(now) + furthest) {
        return {};
    }
    return {lua_integer(slots), lua_integer(number_of(words.second)), lua_integer(number)};
}

/// What all fields together say.
class Tally {
public:
    Tally(const Hold& hold, Millis now) : last(now), hold_(hold), now_(now) {}

    void add(std::string_view field, const Text& text) {
        const Entry entry = read(text, now_);
        const bool valid = entry.deadline > now_ && entry.deadline <= now_ + hold_.ttl + 60'000;
        if (field == hold_.me) {
            mine = valid ? entry.slots : 0;
            stands = entry.number;
        } else if (valid) {
            others += entry.slots;
            last = std::max(last, entry.deadline);
        } else {
            over.emplace_back(field);
        }
    }

    std::int64_t mine = 0;
    std::int64_t others = 0;
    std::int64_t stands = 0;
    Millis last;
    std::vector<std::string> over;  // fields that nothing is left of

private:
    const Hold& hold_;
    const Millis now_;
};

Tally counted(Call& call, const Hold& hold, Millis now) {
    Tally tally(hold, now);
    if (call.is_string()) {
        call.del();
    } else if (const Hash* fields = call.hash()) {
        for (const auto& [name, text] : {std::pair("used", &fields->used), {"reset", &fields->reset}}) {
            if (*text) {
                tally.add(name, *text);
            }
        }
        for (const Field& field : fields->others()) {
            tally.add(field.name, field.text);
        }
    }
    for (const std::string& field : tally.over) {
        call.hdel(field);
    }
    return tally;
}

}  // namespace

Held hold(Call& call, const Hold& hold, Micros told) {
    const Millis now = (told != asks_for_time ? told : call.clock()) / 1000;
    const Tally tally = counted(call, hold, now);
    if (tally.stands > hold.number) {
        return {tally.mine, tally.others, tally.stands};
    }
    std::int64_t got = std::min(hold.want, std::max(tally.mine, hold.limit - tally.others));
    if (got < hold.least) {
        got = hold.least - 1;
    }
    Millis last = tally.last;
    if (got == 0 && hold.least > 0) {
        call.hdel(hold.me);
    } else {
        call.hset(hold.me, triple(got, now + hold.ttl, hold.number));
        last = std::max(last, now + hold.ttl);
    }
    call.pexpire(last - now + 1000);
    return {got, tally.others, hold.number};
}

}  // namespace rate_limit::simulated
