#include "bench/simulate/calls.h"

#include <charconv>
#include <string_view>

#include "redis/script.h"

namespace rate_limit::simulated {

namespace {

/// How many words a call has that is numbered, and may be made again.
constexpr std::size_t numbered_refund = 9;
constexpr std::size_t numbered_reservation = 15;

/// The place of a script's only key among its words.
constexpr std::size_t key_of_script = 3;

std::optional<Called> read_script(world::Words words) {
    const std::string_view digest = words[1];
    if (digest == script(ScriptName::charge).digest()) {
        return Called{Command::charge, 0, 4800};
    }
    if (digest == script(ScriptName::repair).digest()) {
        return Called{Command::repair, 0, 4800};
    }
    if (digest == script(ScriptName::refund).digest()) {
        return Called{Command::refund, 0, words.size() >= numbered_refund ? 6700 : 5200};
    }
    if (digest == script(ScriptName::reserve).digest()) {
        return Called{Command::reserve, 0, words.size() >= numbered_reservation ? 9200 : 6800};
    }
    return {};
}

/// The number behind the last colon, which is how a client is called.
bool read_key(std::string_view word, Key& key) {
    const char* const end = word.data() + word.size();
    const char* const first = word.data() + word.rfind(':') + 1;
    return std::from_chars(first, end, key).ptr == end && first != end;
}

std::string_view key_word(const world::ServerCommand& command, world::Words words) noexcept {
    return words[command.keys == world::KeysAt::counted ? key_of_script : 1];
}

/// 0: there is no such field, or it is no number.
std::int64_t number_in(const world::Hash& fields, std::string_view name) {
    const std::string* text = fields.find(name);
    std::int64_t number = 0;
    if (text != nullptr) {
        std::from_chars(text->data(), text->data() + text->size(), number);
    }
    return number;
}

}  // namespace

std::optional<Called> read_call(const world::ServerCommand& command, world::Words words) {
    std::optional<Called> called;
    if (command.name == "hmget") {
        called = {Command::check, 0, 1300};
    } else if (command.name == "hincrby") {
        called = {Command::increment, 0, 1400};
    } else if (command.name == "evalsha") {
        called = read_script(words);
    }
    if (called && !read_key(key_word(command, words), called->key)) {
        called.reset();
    }
    return called;
}

Window stored_window(world::Server& server, const world::ServerCommand& command, world::Words words) {
    const world::Value* value = server.databases().front().find(key_word(command, words));
    const auto* fields = value != nullptr ? std::get_if<world::Hash>(&value->content) : nullptr;
    const Millis reset = fields != nullptr ? number_in(*fields, "reset") : 0;
    return reset != 0 ? Window{number_in(*fields, "used"), reset} : Window{};
}

}  // namespace rate_limit::simulated
