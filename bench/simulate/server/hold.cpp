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

constexpr const char* sum_field = "+";
constexpr std::size_t many = 8;

/// All that the fields together say.
class Tally {
public:
    Tally(const Hold& hold, Millis now) : first(now + hold.ttl), last(now), hold_(hold), now_(now) {}

    void add(std::string_view field, const Text& text) {
        const Entry entry = read(text, now_);
        if (field == hold_.me) {
            mine = is_valid(entry.deadline) ? entry.slots : 0;
            stands = entry.number;
        } else if (is_valid(entry.deadline)) {
            others += entry.slots;
            first = std::min(first, entry.deadline);
            last = std::max(last, entry.deadline);
        } else {
            over.emplace_back(field);
        }
    }

    /// True if the sum says it, with what the caller holds.
    bool take(const Text& sum, const Text& own) {
        Triple words;
        const std::string text = sum.text();
        const auto has_room = [](std::string_view word) { return word.size() < 16; };
        if (!read_sum(text, words) || !has_room(words.first) || !has_room(words.second) ||
            !has_room(words.third)) {
            return false;
        }
        const Millis from = lua_integer(number_of(words.second));
        const Millis until = lua_integer(number_of(words.third));
        if (!is_valid(from) || !is_valid(until)) {
            return false;
        }
        const Entry entry = read(own, now_);
        mine = entry.slots;
        stands = entry.number;
        others = std::max<std::int64_t>(0, lua_integer(number_of(words.first)) - mine);
        first = from;
        last = until;
        return true;
    }

    std::int64_t mine = 0;
    std::int64_t others = 0;
    std::int64_t stands = 0;
    Millis first;
    Millis last;
    std::vector<std::string> over;  // fields that nothing is left of

private:
    bool is_valid(Millis deadline) const noexcept {
        return deadline > now_ && deadline <= now_ + hold_.ttl + 60'000;
    }

    /// Reads words of decimal digits alone, with a colon between. False for any other text.
    static bool read_sum(std::string_view text, Triple& words) noexcept {
        const std::size_t second = text.find(':');
        const std::size_t third = text.rfind(':');
        if (second == third) {
            return false;
        }
        words = {text.substr(0, second), text.substr(second + 1, third - second - 1), text.substr(third + 1)};
        const auto has_digits = [](std::string_view word) {
            return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
        };
        return has_digits(words.first) && has_digits(words.second) && has_digits(words.third);
    }

    const Hold& hold_;
    const Millis now_;
};

Tally counted(const Hash* fields, const Hold& hold, Millis now, bool sums) {
    Tally tally(hold, now);
    if (fields != nullptr) {
        if (sums && tally.take(fields->find(sum_field), fields->find(hold.me))) {
            return tally;
        }
        for (const auto& [name, text] : {std::pair("used", &fields->used), {"reset", &fields->reset}}) {
            if (*text) {
                tally.add(name, *text);
            }
        }
        for (const Field& field : fields->others()) {
            tally.add(field.name, field.text);
        }
    }
    return tally;
}

}  // namespace

Held hold(Call& call, const Hold& hold, Micros told) {
    const Millis now = (told != asks_for_time ? told : call.clock()) / 1000;
    const Hash* fields = call.is_string() ? nullptr : call.hash();
    const bool sums = fields != nullptr && fields->size() > many;
    const Tally tally = counted(fields, hold, now, sums);
    if (tally.stands > hold.number) {
        return {tally.mine, tally.others, tally.stands};
    }
    for (const std::string& field : tally.over) {
        call.hdel(field);
    }
    std::int64_t got = std::min(hold.want, std::max(tally.mine, hold.limit - tally.others));
    if (got < hold.least) {
        got = hold.least - 1;
    }
    if (call.is_string() && got == 0 && hold.least > 0) {
        return {0, 0, hold.number};
    }
    call.replace_string();
    Millis last = tally.last;
    if (got == 0 && hold.least > 0) {
        call.hdel(hold.me);
    } else {
        call.hset(hold.me, triple(got, now + hold.ttl, hold.number));
        last = std::max(last, now + hold.ttl);
    }
    if (sums) {
        const Millis first = std::min(tally.first, now + hold.ttl);
        call.hset(sum_field, Text(std::to_string(tally.others + got) + ":" + std::to_string(first) + ":" +
                                  std::to_string(last)));
    }
    call.pexpire(last - now + 1000);
    return {got, tally.others, hold.number};
}

}  // namespace rate_limit::simulated
