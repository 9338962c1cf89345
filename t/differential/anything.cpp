#include <array>
#include <string>
#include <vector>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

const std::array<std::string, 24> odd_words{"",
                                            "many",
                                            "-1",
                                            "1.5",
                                            "1e300",
                                            "-1e300",
                                            "nan",
                                            "inf",
                                            "-inf",
                                            "0x7f",
                                            "99999999999",
                                            "1e15",
                                            "used",
                                            "reset",
                                            "+",
                                            "a",
                                            "b",
                                            "r:a",
                                            "0",
                                            "-0",
                                            "007",
                                            "4294967296",
                                            "9223372036854775807",
                                            "-9223372036854775808"};

std::string choose_word(Both& both) {
    constexpr std::array<std::int64_t, 7> ends{
        2, 10, 100, 1'000'000, 1'000'000'000, 1'000'000'000'000, 1'000'000'000'000'000};
    Chance& chance = both.chance();
    switch (chance.below(5)) {
        case 0:
            return chance.one_of(odd_words);
        case 1:
            return std::to_string(both.now() + chance.between(-100'000, 100'000));
        case 2:
            return std::to_string(both.machine_clock());
        default:
            return std::to_string(chance.below(chance.one_of(ends)));
    }
}

void send_script(Both& both, KeyId key) {
    const Script& script = both.chance().one_of(all_scripts());
    std::vector<std::string> words{"EVALSHA", std::string(script.digest()), "1", Both::name(key)};
    const std::int64_t count = both.chance().below(12);
    for (std::int64_t i = 0; i < count; ++i) {
        words.push_back(choose_word(both));
    }
    both.send(key, words);
}

std::string choose_type(Both& both) {
    const std::int64_t bits = both.chance().percent(30) ? 64 : both.chance().between(1, 63);
    return (both.chance().percent(50) ? "i" : "u") + std::to_string(bits);
}

void send_bitfield(Both& both, KeyId key) {
    constexpr std::array overflows{"WRAP", "SAT", "FAIL"};
    Chance& chance = both.chance();
    std::vector<std::string> words{"BITFIELD", Both::name(key)};
    for (std::int64_t i = chance.between(1, 4); i > 0; --i) {
        const std::string type = choose_type(both);
        const std::string offset = (chance.percent(20) ? "#" : "") + std::to_string(chance.below(70));
        switch (chance.below(4)) {
            case 0:
                words.insert(words.end(), {"GET", type, offset});
                break;
            case 1:
                words.insert(words.end(), {"SET", type, offset, choose_word(both)});
                break;
            case 2:
                words.insert(words.end(), {"OVERFLOW", chance.one_of(overflows)});
                break;
            default:
                words.insert(words.end(), {"INCRBY", type, offset, choose_word(both)});
        }
    }
    both.send(key, words);
}

/// With as many words as it takes, or one more or less.
void send_command(Both& both, KeyId key) {
    struct Command {
        const char* name;
        std::int64_t words;
    };
    constexpr std::array<Command, 18> commands{{{"HGET", 1},
                                                {"HMGET", 2},
                                                {"HGETALL", 0},
                                                {"HLEN", 0},
                                                {"HSET", 4},
                                                {"HINCRBY", 2},
                                                {"HDEL", 2},
                                                {"GET", 0},
                                                {"SET", 1},
                                                {"EXPIRE", 1},
                                                {"PEXPIRE", 1},
                                                {"PEXPIREAT", 1},
                                                {"TTL", 0},
                                                {"PTTL", 0},
                                                {"TYPE", 0},
                                                {"EXISTS", 0},
                                                {"PERSIST", 0},
                                                {"NOSUCH", 1}}};
    Chance& chance = both.chance();
    const Command& command = chance.one_of(commands);
    std::vector<std::string> words{command.name, Both::name(key)};
    const std::int64_t count = command.words + (chance.percent(10) ? chance.between(-1, 1) : 0);
    for (std::int64_t i = 0; i < count; ++i) {
        words.push_back(choose_word(both));
    }
    if (chance.percent(10) && (words[0] == "SET" || words[0] == "PEXPIRE")) {
        constexpr std::array options{"NX", "XX", "GT", "LT", "KEEPTTL"};
        words.emplace_back(chance.one_of(options));
    }
    both.send(key, words);
}

}  // namespace

void send_anything(Both& both) {
    const auto key = static_cast<KeyId>(both.chance().below(key_count));
    switch (both.chance().below(4)) {
        case 0:
        case 1:
            return send_script(both, key);
        case 2:
            return send_bitfield(both, key);
        default:
            return send_command(both, key);
    }
}

}  // namespace rate_limit::world
