#include "redis/command.h"

#include <array>

#include "core/decimal.h"

namespace rate_limit {
namespace {

/// In the order of ScriptName.
constexpr std::array<std::size_t, script_count> words_of = {
    words_of_charge, words_of_charge, words_of_reserve, words_of_charge, words_of_bucket, words_of_hold, 0,
    words_of_penalty};

constexpr std::size_t max_number_word = 2 * max_number + 5;

constexpr std::size_t max_word(std::string_view text) noexcept {
    return max_number + 5 + text.size();
}

/// Writes a bulk string at `out`, which has room for max_word().
char* append_word(char* out, std::string_view text) noexcept {
    *out++ = '$';
    out = append(append(out, static_cast<std::int64_t>(text.size())), "\r\n");
    return append(append(out, text), "\r\n");
}

/// Appends a number as a word of at most max_number_word bytes.
char* append_word(char* out, std::int64_t number) noexcept {
    std::array<char, max_number> digits;
    const char* end = append(digits.data(), number);
    return append_word(out, {digits.data(), static_cast<std::size_t>(end - digits.data())});
}

}  // namespace

std::string_view CommandWriter::ping() {
    return command({"PING"});
}

std::string_view CommandWriter::auth(std::string_view username, std::string_view password) {
    begin(username.empty() ? 2 : 3);
    word("AUTH");
    if (!username.empty()) {
        word(username);
    }
    word(password);
    return text();
}

std::string_view CommandWriter::select(std::int64_t database) {
    begin(2);
    word("SELECT");
    word(database);
    return text();
}

std::string_view CommandWriter::info_memory() {
    return command({"INFO", "memory"});
}

std::string_view CommandWriter::info_replication() {
    return command({"INFO", "replication"});
}

std::string_view CommandWriter::load(const Script& script) {
    return command({"SCRIPT", "LOAD", script.text});
}

std::string_view CommandWriter::readonly() {
    return command({"READONLY"});
}

std::string_view CommandWriter::readwrite() {
    return command({"READWRITE"});
}

std::string_view CommandWriter::asking() {
    return command({"ASKING"});
}

std::string_view CommandWriter::cluster_slots() {
    return command({"CLUSTER", "SLOTS"});
}

std::string_view CommandWriter::sentinel_master(std::string_view name) {
    return command({"SENTINEL", "MASTER", name});
}

std::string_view CommandWriter::sentinel_replicas(std::string_view name) {
    return command({"SENTINEL", "REPLICAS", name});
}

std::string_view CommandWriter::sentinel_sentinels(std::string_view name) {
    return command({"SENTINEL", "SENTINELS", name});
}

std::string_view CommandWriter::check(std::string_view key) {
    constexpr std::string_view before = "*4\r\n$5\r\nHMGET\r\n";
    constexpr std::string_view after = "$4\r\nused\r\n$5\r\nreset\r\n";
    begin("HMGET");
    char* out = room(before.size() + max_word(key) + after.size());
    out = append(append_word(append(out, before), key), after);
    advance(out);
    return text();
}

std::string_view CommandWriter::increment(std::string_view key, std::int64_t cost) {
    constexpr std::string_view before = "*4\r\n$7\r\nHINCRBY\r\n";
    constexpr std::string_view after = "$4\r\nused\r\n";
    begin("HINCRBY");
    char* out = room(before.size() + max_word(key) + after.size() + max_number_word);
    out = append(append_word(append(out, before), key), after);
    advance(append_word(out, cost));
    return text();
}

std::string_view CommandWriter::charge(const Opening& opening, std::int64_t cost, bool with_text,
                                       std::optional<std::int64_t> least) {
    call(ScriptName::charge, with_text, opening.key, least ? 5 : 4);
    word(cost);
    words(opening);
    if (least) {
        encoded_.words = words_of_raise;
        word(*least);
    }
    return text();
}

std::string_view CommandWriter::repair(const Opening& opening, bool with_text) {
    call(ScriptName::repair, with_text, opening.key, 3);
    words(opening);
    return text();
}

std::string_view CommandWriter::reserve(const Opening& opening, const Wanted& wanted, bool with_text) {
    const bool numbered = wanted.call.number != 0;
    const bool gives_back = numbered || wanted.back != 0;
    const std::size_t arguments = numbered ? 11 : gives_back ? 9 : wanted.parts != 1 ? 7 : 6;
    call(ScriptName::reserve, with_text, opening.key, arguments);
    word(wanted.limit);
    word(wanted.want);
    word(wanted.least);
    words(opening);
    if (wanted.parts != 1 || gives_back) {
        word(wanted.parts);
    }
    if (gives_back) {
        word(wanted.back);
        word(wanted.of);
    }
    if (numbered) {
        words(wanted.call);
    }
    return text();
}

std::string_view CommandWriter::draw(std::string_view key, const Draw& draw, bool with_text) {
    const bool has_receipt = draw.receipt.mark != 0;
    call(ScriptName::bucket, with_text, key, told_micros_ != 0 ? 10 : has_receipt ? 8 : 5);
    encoded_.draw = draw;
    word(draw.token);
    word(draw.fill);
    word(draw.want);
    word(draw.least);
    word(draw.parts);
    if (has_receipt) {
        word(static_cast<std::int64_t>(draw.receipt.mark >> 32));
        word(static_cast<std::int64_t>(draw.receipt.mark & 0xffff'ffff));
        draw.receipt.only_last ? word("last") : word(draw.receipt.at / 1000);
    } else if (told_micros_ != 0) {
        for (int i = 0; i < 3; ++i) {
            word("");
        }
    }
    time();
    return text();
}

std::string_view CommandWriter::hold(std::string_view key, const Hold& hold, bool with_text) {
    call(ScriptName::hold, with_text, key, told_micros_ != 0 ? 8 : 6);
    word(hold.me);
    word(hold.number);
    word(hold.limit);
    word(hold.want);
    word(hold.least);
    word(hold.ttl);
    time();
    return text();
}

std::string_view CommandWriter::penalty(std::string_view key, const PenaltyOrder& order, bool with_text) {
    const bool tells_time = order.of_bucket && told_micros_ != 0;
    call(ScriptName::penalty, with_text, key, tells_time ? 5 : 3);
    word(order.of_bucket ? "bucket" : "window");
    word(order.life);
    word(order.now);
    if (tells_time) {
        time();
    }
    return text();
}

std::string_view CommandWriter::check_penalty(std::string_view key) {
    return command({"HMGET", key, "until"});
}

/// The time in seconds and microseconds, as TIME says it.
void CommandWriter::time() {
    if (told_micros_ != 0) {
        word(told_micros_ / 1'000'000);
        word(told_micros_ % 1'000'000);
    }
}

/// The instant less `now`, but no less than 0, and both added again: the later one of the two, and the cost.
/// The sign of lua/bucket.lua is the highest bit, which the first step leaves out.
std::string_view CommandWriter::take(std::string_view key, Nanos now, Nanos cost) {
    constexpr std::string_view before = "*12\r\n$8\r\nBITFIELD\r\n";
    constexpr std::string_view less =
        "$8\r\nOVERFLOW\r\n$3\r\nSAT\r\n$6\r\nINCRBY\r\n$3\r\nu63\r\n$1\r\n1\r\n";
    constexpr std::string_view more = "$6\r\nINCRBY\r\n$3\r\ni64\r\n$1\r\n0\r\n";
    begin("BITFIELD");
    char* out = room(before.size() + max_word(key) + less.size() + more.size() + 2 * max_number_word);
    out = append_word(append(append_word(append(out, before), key), less), -now);
    advance(append_word(append(out, more), now + cost));
    return text();
}

std::string_view CommandWriter::take_of_filling(std::string_view key, Nanos cost) {
    constexpr std::string_view before = "*6\r\n$8\r\nBITFIELD\r\n";
    constexpr std::string_view more = "$6\r\nINCRBY\r\n$3\r\ni64\r\n$1\r\n0\r\n";
    begin("BITFIELD");
    char* out = room(before.size() + max_word(key) + more.size() + max_number_word);
    out = append(append_word(append(out, before), key), more);
    advance(append_word(out, cost));
    return text();
}

std::string_view CommandWriter::refund(std::string_view key, std::int64_t cost, Millis reset,
                                       const Numbered& numbered, Emptied emptied, bool with_text) {
    const bool keep = emptied == Emptied::stays;
    const bool has_number = numbered.number != 0;
    call(ScriptName::refund, with_text, key, has_number ? 5 : keep ? 3 : 2);
    word(cost);
    word(reset);
    if (keep || has_number) {
        word(keep ? "keep" : "");
    }
    if (has_number) {
        words(numbered);
    }
    return text();
}

std::string_view CommandWriter::overrides_version(std::string_view key) {
    return command({"HMGET", key, "version"});
}

std::string_view CommandWriter::overrides(std::string_view key) {
    return command({"HGETALL", key});
}

std::string_view CommandWriter::change_overrides(std::string_view key,
                                                 const std::vector<std::string>& arguments, bool with_text) {
    call(ScriptName::overrides, with_text, key, arguments.size());
    for (const std::string& argument : arguments) {
        word(argument);
    }
    return text();
}

char* CommandWriter::room(std::size_t size) {
    if (buffer_.size() - length_ < size) {
        buffer_.resize(2 * (length_ + size));
    }
    return buffer_.data() + length_;
}

void CommandWriter::advance(const char* end) noexcept {
    length_ = static_cast<std::size_t>(end - buffer_.data());
}

/// A command whose bytes the caller knows.
void CommandWriter::begin(const char* name) noexcept {
    encoded_ = {name};
    length_ = 0;
}

void CommandWriter::begin(std::size_t words) {
    length_ = 0;
    char* out = room(max_number + 3);
    *out++ = '*';
    advance(append(append(out, static_cast<std::int64_t>(words)), "\r\n"));
}

void CommandWriter::word(std::string_view text) {
    advance(append_word(room(max_word(text)), text));
}

void CommandWriter::word(std::int64_t number) {
    advance(append_word(room(max_number_word), number));
}

void CommandWriter::words(const Numbered& call) {
    word(call.me);
    word(call.number);
}

void CommandWriter::words(const Opening& opening) {
    word(opening.now);
    word(opening.proposed);
    word(opening.latest);
}

std::string_view CommandWriter::command(std::initializer_list<std::string_view> words) {
    begin(words.size());
    encoded_ = {words.begin()->data()};
    for (const std::string_view text : words) {
        word(text);
    }
    return text();
}

void CommandWriter::call(ScriptName name, bool with_text, std::string_view key, std::size_t arguments) {
    const Script& script = rate_limit::script(name);
    begin(4 + arguments);
    encoded_ = {script.file, words_of[static_cast<std::size_t>(name)]};
    word(with_text ? "EVAL" : "EVALSHA");
    word(with_text ? script.text : script.digest());
    word("1");
    word(key);
}

}  // namespace rate_limit
