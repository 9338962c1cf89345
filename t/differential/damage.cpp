#include <array>
#include <string>

#include "redis/script_reply.h"
#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

using namespace std::string_literals;

const std::array odd_texts{""s,
                           "many"s,
                           "0"s,
                           "-0"s,
                           "00"s,
                           "007"s,
                           "-3"s,
                           "1.5"s,
                           "1e3"s,
                           "1e300"s,
                           " 7"s,
                           "7\n"s,
                           "7 "s,
                           "7\0"s,
                           "0x7f"s,
                           "nan"s,
                           "inf"s,
                           "999999999999999"s,
                           "1000000000000000"s,
                           "9007199254740993"s,
                           "9223372036854775000"s,
                           "9223372036854775806"s,
                           "9223372036854775807"s,
                           "9223372036854775808"s,
                           "-9223372036854775808"s,
                           "99999999999999999999999999999"s,
                           "000000000000000000000000000012"s};

/// Now, or the latest deadline or reset that a script believes; one less or more.
Millis choose_time(Both& both) {
    constexpr std::array<Millis, 8> ahead{0, 0, 61'000, 70'000, 90'000, 120'000, 3'660'000, 86'460'000};
    return both.now() + both.chance().one_of(ahead) * (both.chance().percent(90) ? 1 : -1) +
           both.chance().between(-1, 1);
}

/// The end of a penalty, or the latest that a script believes.
Millis choose_until(Both& both) {
    return both.chance().percent(50) ? choose_time(both)
                                     : both.now() + longest_penalty + 60'000 + both.chance().between(-1, 1);
}

std::string choose_number_text(Both& both) {
    constexpr std::array<std::int64_t, 7> edges{
        0, 1, 1'000'000'000'000, 1'000'000'000'001, 999'999'999'999'999, 1'000'000'000'000'000, 7};
    Chance& chance = both.chance();
    switch (chance.below(6)) {
        case 0:
            return chance.percent(30)
                       ? std::string(static_cast<std::size_t>(chance.between(14, 15)), '0') + '7'
                       : std::to_string(chance.one_of(edges));
        case 1:
            return std::to_string(choose_time(both));
        case 2:
            return std::to_string(both.now() + 10'000'000'000'000 + chance.between(-1, 1));
        case 3:
            return std::to_string(both.clock() + chance.between(-700'000'000, 700'000'000));
        case 4:
            return chance.percent(10) ? chance.one_of(odd_texts) : std::to_string(chance.below(20));
        default:
            return std::to_string(chance.below(20));
    }
}

/// A text that a field for a machine, or for a number of a call, may hold.
std::string choose_triple(Both& both, KeyId key) {
    Chance& chance = both.chance();
    if (chance.percent(10)) {
        return chance.one_of(odd_texts);
    }
    std::string text = choose_number_text(both) + ' ';
    text += (chance.percent(50) ? std::to_string(choose_time(both)) : choose_number_text(both)) + ' ';
    text += chance.percent(50) ? std::to_string(choose_reset(both, key)) : choose_number_text(both);
    return chance.percent(5) ? text + ' ' : chance.percent(5) ? ' ' + text : text;
}

std::string bytes_of_word(std::uint64_t word) {
    std::string bytes;
    for (int shift = 56; shift >= 0; shift -= 8) {
        bytes += static_cast<char>(word >> shift);
    }
    return bytes;
}

std::string choose_bytes(Both& both) {
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    constexpr std::array<Nanos, 7> longest{0, 1, 100'000, 10'000'000'000, max_fill, max_fill + 1000, -1};
    Chance& chance = both.chance();
    if (chance.percent(30)) {
        std::string bytes(static_cast<std::size_t>(chance.below(40)), '\0');
        for (char& byte : bytes) {
            byte = static_cast<char>(chance.bits());
        }
        return bytes;
    }
    const Nanos wide = chance.one_of(longest) / 2 + 1'000'000;
    const Nanos instant = both.clock() * 1000 + (chance.percent(50) ? wide : chance.between(-wide, 3 * wide));
    const auto at = chance.percent(5) ? chance.bits() >> 33 : static_cast<std::uint64_t>(instant);
    const std::uint64_t full_at = at | (chance.percent(80) ? sign : 0);
    const std::string bytes = bytes_of_word(full_at) +
                              bytes_of_word(static_cast<std::uint64_t>(chance.one_of(longest))) +
                              bytes_of_word(chance.bits());
    return chance.percent(60) ? bytes : bytes + bytes_of_word(static_cast<std::uint64_t>(choose_until(both)));
}

void set_field(Both& both, KeyId key, const std::string& field, const std::string& text) {
    both.send(key, {"HSET", Both::name(key), field, text});
}

void break_window(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(chance.percent(10) ? Kind::crowd : Kind::window);
    switch (chance.below(8)) {
        case 0:
            return set_field(both, key, "used", chance.one_of(odd_texts));
        case 1:
            return set_field(both, key, "reset", chance.one_of(odd_texts));
        case 2:
            return set_field(both, key, "reset", std::to_string(choose_time(both)));
        case 3:
            return set_field(both, key, "used", choose_number_text(both));
        case 4:
            return set_field(both, key, "until", chance.one_of(odd_texts));
        case 5:
            return set_field(both, key, "until", std::to_string(choose_until(both)));
        case 6:
            return set_field(both, key, chance.percent(10) ? "foreign" : "g:", choose_triple(both, key));
        default: {
            const std::string me = "machine-" + std::to_string(chance.below(5)) + ".1234";
            return set_field(both, key, (chance.percent(50) ? "g:" : "r:") + me, choose_triple(both, key));
        }
    }
}

/// Many numbers of calls, old and new.
void fill_crowd(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(Kind::crowd);
    const std::int64_t count = chance.between(1, 280);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::string name = "machine-" + std::to_string(1000 + i);
        set_field(both, key,
                  (chance.percent(50)   ? "g:"
                   : chance.percent(95) ? "r:"
                                        : "other:") +
                      name,
                  choose_triple(both, key));
    }
}

void drop_field(Both& both) {
    constexpr std::array<const char*, 4> fields{"used", "reset", "a", "b"};
    const KeyId key = both.choose(both.chance().percent(70) ? Kind::window : Kind::slots);
    const std::string field = both.chance().one_of(fields);
    both.send(key, {"HDEL", Both::name(key), field});
}

/// Overwrites a bucket, or else a window or slots.
void break_bucket(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(chance.percent(90)   ? Kind::bucket
                                  : chance.percent(50) ? Kind::window
                                                       : Kind::slots);
    const std::string bytes = choose_bytes(both);
    both.send(key, {"SET", Both::name(key), bytes});
}

void break_slots(Both& both) {
    constexpr std::array<const char*, 5> machines{"a", "b", "machine-3.example", "gone", ""};
    const KeyId key = both.choose(Kind::slots);
    set_field(both, key, both.chance().one_of(machines), choose_triple(both, key));
}

void break_overrides(Both& both) {
    constexpr std::array<const char*, 3> others{"a/", "e/", ""};
    Chance& chance = both.chance();
    const KeyId key = both.choose(Kind::overrides);
    if (chance.percent(10)) {
        both.send(key, {"SET", Both::name(key), "x"});
    } else if (chance.percent(50)) {
        set_field(both, key, "version",
                  chance.percent(50) ? chance.one_of(odd_texts) : choose_number_text(both));
    } else {
        set_field(both, key, chance.one_of(others), chance.one_of(odd_texts));
    }
}

void change_expiry(Both& both) {
    Chance& chance = both.chance();
    const auto key = static_cast<KeyId>(chance.below(key_count));
    if (chance.percent(30)) {
        both.send(key, {"PERSIST", Both::name(key)});
        return;
    }
    const Millis life = chance.percent(10) ? chance.between(-5, 1) : chance.below(200'000);
    both.send(key, {"PEXPIRE", Both::name(key), std::to_string(life)});
}

void drop_key(Both& both, KeyId key) {
    both.send(key, {"DEL", Both::name(key)});
}

void put_hash_for_bucket(Both& both) {
    const KeyId key = both.choose(Kind::bucket);
    drop_key(both, key);
    set_field(both, key, "used", "1");
}

}  // namespace

void send_damage(Both& both) {
    const std::int64_t choice = both.chance().below(100);
    if (choice < 35) {
        break_window(both);
    } else if (choice < 37) {
        fill_crowd(both);
    } else if (choice < 45) {
        drop_field(both);
    } else if (choice < 58) {
        break_bucket(both);
    } else if (choice < 60) {
        put_hash_for_bucket(both);
    } else if (choice < 75) {
        break_slots(both);
    } else if (choice < 80) {
        break_overrides(both);
    } else if (choice < 93) {
        change_expiry(both);
    } else {
        const auto key = static_cast<KeyId>(both.chance().below(key_count));
        if (both.chance().percent(10)) {
            both.send(key, {"RPUSH", Both::name(key), "a", "b"});
        } else {
            drop_key(both, key);
        }
    }
}

}  // namespace rate_limit::world
