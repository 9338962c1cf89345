#include "bench/simulate/server/differential/both.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace rate_limit::simulated {
namespace {

constexpr Micros begin = 1'700'000'000'123'456;
constexpr std::size_t remembered = 24;  // commands of a key that are printed where something differs

std::string encoded(const std::vector<std::string>& words) {
    std::string text = '*' + std::to_string(words.size()) + "\r\n";
    for (const std::string& word : words) {
        text += '$' + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    }
    return text;
}

std::string living(Millis life) {
    return ", lives " + std::to_string(life);
}

/// The words of a command as they were encoded, a script by its name.
std::string in_words_of_command(std::string_view command) {
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
        text += in_words(word) + ' ';
    }
    return text;
}

}  // namespace

Both::Both(const std::string& clock, std::uint64_t seed) : chance_(seed), clock_(begin), real_(clock, begin) {
    servers_[0].lead(&journal_);
    servers_[1].follow_from(journal_.end());
    for (const Script& script : all_scripts()) {
        if (real_.ask(writer_.load(script))->type != REDIS_REPLY_STRING) {
            std::fprintf(stderr, "the server does not take %s\n", script.file);
            std::exit(2);
        }
    }
}

KeyId Both::choose(Kind kind) {
    if (chance_.below(60) == 0) {
        return static_cast<KeyId>(chance_.below(key_count));
    }
    const Keys& keys = keys_of[static_cast<std::size_t>(kind)];
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

void Both::send(KeyId key, std::string_view command, std::string expected) {
    real_.send(command);
    std::deque<std::string>& history = history_[static_cast<std::size_t>(key)];
    if (history.size() == remembered) {
        history.pop_front();
    }
    history.emplace_back(command);
    sent_.push_back({key, std::move(expected)});
}

void Both::send(KeyId key, const std::vector<std::string>& words, std::string expected) {
    damaged_ = key;
    send(key, encoded(words), std::move(expected));
}

bool Both::compare_answers() {
    for (const Sent& sent : sent_) {
        const std::string answer = in_words(*real_.receive());
        ++answers_compared_;
        if (answer != sent.expected) {
            std::printf("an answer of %s at %lld\n  real:      %s\n  simulated: %s\n", name(sent.key).c_str(),
                        static_cast<long long>(clock_), answer.c_str(), sent.expected.c_str());
            print_history(sent.key);
            return false;
        }
    }
    sent_.clear();
    return true;
}

bool Both::compare_states() {
    for (KeyId key = 0; key < key_count; ++key) {
        for (const char* command : {"PTTL", "HGETALL", "GET"}) {
            real_.send(encoded({command, name(key)}));
        }
    }
    follow();
    bool same = true;
    for (KeyId key = 0; key < key_count; ++key) {
        const std::int64_t life = real_.receive()->integer;
        const RealReply fields = real_.receive();
        const std::string real = content_in_words(*fields, *real_.receive());
        states_compared_ += life != -2 ? 1 : 0;
        same = same && compare_state(key, real + living(life));
    }
    fail_over();
    return same;
}

bool Both::compare_state(KeyId key, const std::string& real) {
    for (const Server& server : servers_) {
        const std::string simulated = in_words(server.look(key, clock_)) + living(server.pttl(key, clock_));
        if (simulated != real) {
            std::printf("the state of %s at %lld\n  real:      %s\n  %s %s\n", name(key).c_str(),
                        static_cast<long long>(clock_), real.c_str(),
                        &server == &servers_[primary_] ? "simulated:" : "replica:  ", simulated.c_str());
            print_history(key);
            return false;
        }
    }
    return true;
}

void Both::follow() {
    servers_[1 - primary_].follow(journal_, clock_);
    journal_.forget_before(servers_[1 - primary_].position());
}

void Both::fail_over() noexcept {
    servers_[primary_].follow_from(journal_.end());
    primary_ = 1 - primary_;
    servers_[primary_].lead(&journal_);
}

void Both::print_history(KeyId key) const {
    std::printf("its last commands, and later ones of the same moment:\n");
    for (const std::string& command : history_[static_cast<std::size_t>(key)]) {
        std::printf("  %s\n", in_words_of_command(command).c_str());
    }
}

void Both::advance(Micros by) {
    clock_ += by;
    real_.set_clock(clock_);
}

}  // namespace rate_limit::simulated
