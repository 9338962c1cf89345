#include "t/differential/both.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

constexpr Micros begin = 1'700'000'000'123'456;
constexpr std::size_t remembered = 24;  // commands of a key that are printed where something differs
constexpr std::size_t shown = 2000;     // bytes

/// The words of a command as they were encoded, a script by its name.
std::string in_words(std::string_view command) {
    std::string text;
    std::size_t at = command.find("\r\n") + 2;
    while (at < command.size()) {
        std::size_t length = 0;
        std::from_chars(command.data() + at + 1, command.data() + command.size(), length);
        at = command.find("\r\n", at) + 2;
        std::string word(command.substr(at, length));
        at += length + 2;
        for (const Script& script : all_scripts()) {
            word = word == script.digest() ? script.file : word;
        }
        text += '\'' + readable(word) + "' ";
    }
    return text;
}

}  // namespace

std::string encoded(const std::vector<std::string>& words) {
    std::string text = '*' + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        text += '$' + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return text;
}

std::string readable(std::string_view bytes) {
    std::string text;
    for (const char byte : bytes.substr(0, shown)) {
        if (byte >= ' ' && byte <= '~' && byte != '\\') {
            text += byte;
        } else {
            std::array<char, 8> code{};
            std::snprintf(code.data(), code.size(), "\\%02x", static_cast<unsigned char>(byte));
            text += code.data();
        }
    }
    return text;
}

Both::Both(const std::string& clock, std::uint64_t seed) : chance_(seed), clock_(begin), real_(clock, begin) {
    const ServerVersion version = real_.version();
    for (std::size_t i = 0; i < 2; ++i) {
        servers_[i] = std::make_unique<Server>([this] { return clock_; });
        servers_[i]->state.version = version;
        servers_[i]->on_write([this](const Effect& effect) { effects_.push_back(effect); });
        sessions_[i] = std::make_unique<Session>(*servers_[i]);
    }
    servers_[1]->state.role = ServerRole::replica;
    load_scripts(1);
    for (const Script& script : all_scripts()) {
        send(key_count, writer_.load(script));
    }
}

/// They are not replicated.
void Both::load_scripts(std::size_t server) {
    for (const Script& script : all_scripts()) {
        ask(server, writer_.load(script));
    }
}

KeyId Both::choose(Kind kind) {
    if (chance_.below(60) == 0) {
        return static_cast<KeyId>(chance_.below(key_count));
    }
    const Keys& keys = keys_of_kind[static_cast<std::size_t>(kind)];
    if (chance_.percent(25) && damaged_ - keys.first < static_cast<KeyId>(keys.count)) {
        return damaged_;
    }
    return keys.first + static_cast<KeyId>(chance_.below(keys.count));
}

Micros Both::machine_clock() {
    constexpr std::array<Micros, 8> skews{0, 0, 0, 5'000, 5'000, 1'000'000, 2'000'000, 70'000'000};
    const Micros skew = chance_.one_of(skews);
    return clock_ + chance_.between(-skew, skew);
}

const std::string& Both::name(KeyId key) {
    static const std::array<std::string, key_count> names = [] {
        std::array<std::string, key_count> made;
        for (std::size_t i = 0; i < made.size(); ++i) {
            made[i] = "k" + std::to_string(i);
        }
        return made;
    }();
    return names[static_cast<std::size_t>(key)];
}

/// Cut anywhere.
std::string Both::ask(std::size_t server, std::string_view command) {
    const auto cut = static_cast<std::size_t>(chance_.below(static_cast<std::int64_t>(command.size()) + 1));
    sessions_[server]->receive(command.substr(0, cut));
    sessions_[server]->receive(command.substr(cut));
    return sessions_[server]->take_replies();
}

std::string Both::send(KeyId key, std::string_view command) {
    real_.send(command);
    std::deque<std::string>& history = history_[static_cast<std::size_t>(key)];
    if (history.size() == remembered) {
        history.pop_front();
    }
    history.emplace_back(command);
    sent_.push_back({key, std::string(command), ask(primary_, command)});
    return sent_.back().expected;
}

std::string Both::send(KeyId key, const std::vector<std::string>& words) {
    damaged_ = key;
    return send(key, encoded(words));
}

bool Both::compare(const Sent& sent) {
    ++answers_compared_;
    const std::string answer = real_.receive(sent.expected.size());
    if (answer == sent.expected) {
        return true;
    }
    std::printf("an answer at %lld to %s\n  real:      %s\n  simulated: %s\n", static_cast<long long>(clock_),
                in_words(sent.command).c_str(), readable(answer + real_.receive_rest()).c_str(),
                readable(sent.expected).c_str());
    print_history(sent.key);
    return false;
}

bool Both::compare_answers() {
    for (const Sent& sent : std::exchange(sent_, {})) {
        if (!compare(sent)) {
            return false;
        }
    }
    const std::string more = real_.receive_rest();
    if (!more.empty()) {
        std::printf("the real server says more: %s\n", readable(more).c_str());
    }
    return more.empty();
}

bool Both::compare_states() {
    for (const Effect& effect : std::exchange(effects_, {})) {
        servers_[1 - primary_]->apply(effect);
    }
    for (KeyId key = 0; key < key_count; ++key) {
        states_compared_ += life_of(key) != -2 ? 1 : 0;
        for (const char* command : {"PTTL", "TYPE", "HGETALL", "GET"}) {
            const std::string words = encoded({command, name(key)});
            const std::string replica = ask(1 - primary_, words);
            const std::string primary = send(key, words);
            if (replica != primary) {
                std::printf("the state of %s\n  primary: %s\n  replica: %s\n", name(key).c_str(),
                            readable(primary).c_str(), readable(replica).c_str());
                print_history(key);
                return false;
            }
        }
    }
    const bool same = compare_answers();
    fail_over();
    return same;
}

void Both::fail_over() {
    for (const Effect& effect : std::exchange(effects_, {})) {
        servers_[1 - primary_]->apply(effect);
    }
    servers_[primary_]->state.role = ServerRole::replica;
    primary_ = 1 - primary_;
    servers_[primary_]->state.role = ServerRole::primary;
}

void Both::reconnect() {
    real_.reconnect();
    for (std::size_t i = 0; i < 2; ++i) {
        sessions_[i] = std::make_unique<Session>(*servers_[i]);
    }
}

void Both::print_history(KeyId key) const {
    std::printf("its last commands, and later ones of the same moment:\n");
    for (const std::string& command : history_[static_cast<std::size_t>(key)]) {
        std::printf("  %s\n", in_words(command).c_str());
    }
}

void Both::advance(Micros by) {
    clock_ += by;
    real_.set_clock(clock_);
}

const std::string* Both::stored_text(KeyId key, std::string_view field) {
    const Value* value = simulated().databases()[0].find(name(key));
    const auto* hash = value != nullptr ? std::get_if<Hash>(&value->content) : nullptr;
    return hash != nullptr ? hash->find(field) : nullptr;
}

std::optional<std::int64_t> Both::stored_number(KeyId key, std::string_view field) {
    const std::string* text = stored_text(key, field);
    std::int64_t number = 0;
    return text != nullptr && read_integer(*text, number) ? std::optional(number) : std::nullopt;
}

Millis Both::life_of(KeyId key) {
    const Value* value = simulated().databases()[0].find(name(key));
    return value == nullptr ? -2 : value->expires == never ? -1 : value->expires - now();
}

}  // namespace rate_limit::world
