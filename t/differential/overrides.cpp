#include <array>
#include <string>
#include <vector>

#include "t/differential/choices.h"

namespace rate_limit::world {
namespace {

constexpr std::array<const char*, 10> fields{"a/", "a/:k",   "a/:l", "b/", "b/:k",
                                             "c/", "c/:%20", "d/",   "",   "version"};
constexpr std::array<std::int64_t, 5> odd_versions{0, -1, 8'999'999'999'999'998, 9'007'199'254'740'993,
                                                   9'223'372'036'854'775'807};
constexpr std::array<const char*, 5> values{"1 ban", "1 allow", "1 off", "2", ""};

const char* choose_field(Both& both) {
    return both.chance().percent(5) ? both.chance().one_of(fields) : fields.at(both.chance().bits() % 8);
}

/// What the version must still say for all to begin anew: what it says, as a rule.
std::string choose_condition(Both& both, KeyId key) {
    Chance& chance = both.chance();
    if (chance.percent(70)) {
        return "";
    }
    const std::string* version = both.stored_text(key, "version");
    return "=" + (version == nullptr || chance.percent(10) ? std::to_string(chance.below(3)) : *version);
}

}  // namespace

void send_overrides(Both& both) {
    constexpr std::array<const char*, 6> most{"1", "3", "6", "1000", "1000", "1000"};
    Chance& chance = both.chance();
    const KeyId key = both.choose(Kind::overrides);
    std::vector<std::string> arguments{
        std::to_string(chance.percent(5) ? chance.one_of(odd_versions) : both.machine_clock() / 1000),
        chance.one_of(most), choose_condition(both, key), choose_field(both), chance.one_of(values)};
    for (std::int64_t i = chance.percent(50) ? 0 : chance.below(6); i > 0; --i) {
        const std::string field = choose_field(both);
        const std::string* stored = both.stored_text(key, field);
        arguments.push_back(field);
        arguments.push_back(stored != nullptr && chance.percent(50) ? *stored : chance.one_of(values));
    }
    both.send(key, both.writer().change_overrides(Both::name(key), arguments));
}

}  // namespace rate_limit::world
