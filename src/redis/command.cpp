#include "redis/command.h"

#include <array>
#include <charconv>

namespace rate_limit {
namespace {

using Digits = std::array<char, 20>;

std::string_view to_digits(std::int64_t number, Digits& digits) noexcept {
    const char* end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
    return {digits.data(), static_cast<std::size_t>(end - digits.data())};
}

void line(std::string& buffer, char kind, std::size_t count) {
    Digits digits;
    buffer += kind;
    buffer += to_digits(static_cast<std::int64_t>(count), digits);
    buffer += "\r\n";
}

}  // namespace

std::string_view CommandWriter::ping() {
    begin(1);
    word("PING");
    return buffer_;
}

std::string_view CommandWriter::auth(std::string_view username, std::string_view password) {
    begin(username.empty() ? 2 : 3);
    word("AUTH");
    if (!username.empty()) {
        word(username);
    }
    word(password);
    return buffer_;
}

std::string_view CommandWriter::select(std::int64_t database) {
    begin(2);
    word("SELECT");
    word(database);
    return buffer_;
}

std::string_view CommandWriter::info_memory() {
    begin(2);
    word("INFO");
    word("memory");
    return buffer_;
}

std::string_view CommandWriter::load(const Script& script) {
    begin(3);
    word("SCRIPT");
    word("LOAD");
    word(script.text);
    return buffer_;
}

std::string_view CommandWriter::check(std::string_view key) {
    begin(4);
    word("HMGET");
    word(key);
    word("used");
    word("reset");
    return buffer_;
}

std::string_view CommandWriter::increment(std::string_view key, std::int64_t cost) {
    begin(4);
    word("HINCRBY");
    word(key);
    word("used");
    word(cost);
    return buffer_;
}

std::string_view CommandWriter::charge(std::string_view key, std::int64_t cost, Millis now, Millis proposed,
                                       Millis latest, bool with_text) {
    script(charge_script(), with_text, key, 4);
    word(cost);
    word(now);
    word(proposed);
    word(latest);
    return buffer_;
}

std::string_view CommandWriter::repair(std::string_view key, Millis now, Millis proposed, Millis latest,
                                       bool with_text) {
    script(repair_script(), with_text, key, 3);
    word(now);
    word(proposed);
    word(latest);
    return buffer_;
}

void CommandWriter::begin(std::size_t words) {
    buffer_.clear();
    line(buffer_, '*', words);
}

void CommandWriter::word(std::string_view text) {
    line(buffer_, '$', text.size());
    buffer_ += text;
    buffer_ += "\r\n";
}

void CommandWriter::word(std::int64_t number) {
    Digits digits;
    word(to_digits(number, digits));
}

void CommandWriter::script(const Script& script, bool with_text, std::string_view key,
                           std::size_t arguments) {
    begin(4 + arguments);
    word(with_text ? "EVAL" : "EVALSHA");
    word(with_text ? script.text : script.digest());
    word("1");
    word(key);
}

}  // namespace rate_limit
