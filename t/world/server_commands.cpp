#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <system_error>

#include "t/world/server_command.h"

namespace rate_limit::world {
namespace {

using C = ServerCommand;

constexpr unsigned read = 0;
constexpr unsigned write = C::writes;
constexpr unsigned grows = C::writes | C::denies_oom;
constexpr unsigned any_time = C::while_loading | C::while_stale;

/// The table that COMMAND tells, in ascending order.
constexpr std::array commands{
    C{"asking", 1, read, KeysAt::none, run_asking},
    C{"auth", -2, any_time | C::while_busy | C::before_auth | C::not_in_scripts, KeysAt::none, run_auth},
    C{"bitfield", -2, grows, KeysAt::second, run_bitfield},
    C{"cluster|slots", 2, any_time, KeysAt::none, run_cluster_slots},
    C{"dbsize", 1, read, KeysAt::none, run_dbsize},
    C{"del", -2, write, KeysAt::all, run_del},
    C{"eval", -3, C::not_in_scripts, KeysAt::counted, run_eval},
    C{"evalsha", -3, C::not_in_scripts, KeysAt::counted, run_evalsha},
    C{"exists", -2, read, KeysAt::all, run_exists},
    C{"expire", -3, write, KeysAt::second, run_expire},
    C{"expireat", -3, write, KeysAt::second, run_expire},
    C{"flushall", -1, write, KeysAt::none, run_flushall},
    C{"get", 2, read, KeysAt::second, run_get},
    C{"hdel", -3, write, KeysAt::second, run_hdel},
    C{"hget", 3, read, KeysAt::second, run_hget},
    C{"hgetall", 2, read, KeysAt::second, run_hgetall},
    C{"hincrby", 4, grows, KeysAt::second, run_hincrby},
    C{"hlen", 2, read, KeysAt::second, run_hlen},
    C{"hmget", -3, read, KeysAt::second, run_hmget},
    C{"hset", -4, grows, KeysAt::second, run_hset},
    C{"info", -1, any_time, KeysAt::none, run_info},
    C{"persist", 2, write, KeysAt::second, run_persist},
    C{"pexpire", -3, write, KeysAt::second, run_expire},
    C{"pexpireat", -3, write, KeysAt::second, run_expire},
    C{"ping", -1, read, KeysAt::none, run_ping},
    C{"pttl", 2, read, KeysAt::second, run_ttl},
    C{"readonly", 1, any_time, KeysAt::none, run_readonly},
    C{"readwrite", 1, any_time, KeysAt::none, run_readwrite},
    C{"rpush", -3, grows, KeysAt::second, run_rpush},
    C{"script|exists", -3, C::not_in_scripts, KeysAt::none, run_script_exists},
    C{"script|flush", -2, C::not_in_scripts, KeysAt::none, run_script_flush},
    C{"script|load", 3, C::while_stale | C::not_in_scripts, KeysAt::none, run_script_load},
    C{"select", 2, any_time, KeysAt::none, run_select},
    C{"set", -3, grows, KeysAt::second, run_set},
    C{"time", 1, any_time, KeysAt::none, run_time},
    C{"ttl", 2, read, KeysAt::second, run_ttl},
    C{"type", 2, read, KeysAt::second, run_type},
};

constexpr bool are_sorted() noexcept {
    for (std::size_t i = 1; i < commands.size(); ++i) {
        if (commands[i - 1].name >= commands[i].name) {
            return false;
        }
    }
    return true;
}
static_assert(are_sorted(), "commands are found by halves");

constexpr std::size_t longest = 16;

/// A command's name in lower case, in as many bytes as the longest name has.
class Name {
public:
    explicit Name(std::string_view word) noexcept { add(word); }

    void add(std::string_view word) noexcept {
        for (const char c : word.substr(0, longest - length_)) {
            text_[length_++] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
        }
    }

    std::string_view text() const noexcept { return {text_.data(), length_}; }

private:
    std::array<char, longest> text_{};
    std::size_t length_ = 0;
};

auto first_not_before(std::string_view name) noexcept {
    return std::lower_bound(commands.begin(), commands.end(), name,
                            [](const C& command, std::string_view other) { return command.name < other; });
}

const C* find(std::string_view name) noexcept {
    const auto* place = first_not_before(name);
    return place != commands.end() && place->name == name ? place : nullptr;
}

}  // namespace

const ServerCommand* find_command(Words words) {
    Name name(words[0]);
    if (name.text().find('|') != std::string_view::npos) {
        return nullptr;
    }
    const ServerCommand* command = find(name.text());
    if (command == nullptr && words.size() > 1 && has_subcommands(words[0])) {
        name.add("|");
        name.add(words[1]);
        command = find(name.text());
    }
    return command;
}

bool has_subcommands(std::string_view word) {
    const Name name(word);
    return name.text() == "script" || name.text() == "cluster";
}

Words keys_of(const ServerCommand& command, Words words) {
    switch (command.keys) {
        case KeysAt::none:
            return words.from(words.size());
        case KeysAt::second:
            return {words.begin() + 1, 1};
        case KeysAt::all:
            return words.from(1);
        case KeysAt::counted:
            break;
    }
    std::size_t count = 0;
    const std::string_view number = words[2];
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    const bool sound = error == std::errc() && stop == number.data() + number.size();
    return {words.begin() + 3, sound && count <= words.size() - 3 ? count : 0};
}

}  // namespace rate_limit::world
