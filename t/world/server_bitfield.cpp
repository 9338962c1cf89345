#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "t/world/server.h"
#include "t/world/server_numbers.h"

namespace rate_limit::world {
namespace {

enum class Overflow : unsigned char { wrap, saturate, fail };

/// A number of so many bits at a place in a string, and what is to be done with it.
struct Step {
    enum class Kind : unsigned char { get, set, increment };
    Kind kind = Kind::get;
    Overflow overflow = Overflow::wrap;
    bool is_signed = false;
    unsigned bits = 0;
    std::uint64_t offset = 0;
    std::int64_t number = 0;
};

constexpr std::uint64_t max_offset = std::uint64_t{512} * 1024 * 1024 * 8 - 1;

bool read_type(std::string_view text, Step& step) noexcept {
    std::int64_t bits = 0;
    step.is_signed = !text.empty() && text[0] == 'i';
    if (text.empty() || (text[0] != 'i' && text[0] != 'u') || !read_integer(text.substr(1), bits) ||
        bits < 1 || bits > (step.is_signed ? 64 : 63)) {
        return false;
    }
    step.bits = static_cast<unsigned>(bits);
    return true;
}

bool read_offset(std::string_view text, Step& step) noexcept {
    const bool counts_numbers = !text.empty() && text[0] == '#';
    std::int64_t offset = 0;
    if (!read_integer(text.substr(counts_numbers ? 1 : 0), offset) || offset < 0) {
        return false;
    }
    step.offset = static_cast<std::uint64_t>(offset);
    if (counts_numbers && step.offset > max_offset / step.bits) {
        return false;
    }
    step.offset *= counts_numbers ? step.bits : 1;
    return step.offset <= max_offset;
}

/// One step, at `at`, which moves behind it. The error where it makes no sense, else empty.
std::string_view read_step(Words words, std::size_t& at, Step& step) {
    const std::size_t count = is_word(words[at], "get") ? 3 : 4;
    step.kind = count == 3                  ? Step::Kind::get
                : is_word(words[at], "set") ? Step::Kind::set
                                            : Step::Kind::increment;
    if ((count == 4 && step.kind == Step::Kind::increment && !is_word(words[at], "incrby")) ||
        words.size() - at < count) {
        return syntax_error;
    }
    if (!read_type(words[at + 1], step)) {
        return "ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 "
               "is.";
    }
    if (!read_offset(words[at + 2], step)) {
        return "ERR bit offset is not an integer or out of range";
    }
    if (count == 4 && !read_integer(words[at + 3], step.number)) {
        return no_integer;
    }
    at += count;
    return {};
}

std::string_view read_steps(Words words, std::vector<Step>& steps) {
    Overflow overflow = Overflow::wrap;
    for (std::size_t at = 2; at < words.size();) {
        if (is_word(words[at], "overflow") && at + 1 < words.size()) {
            const std::string_view word = words[at + 1];
            if (!is_word(word, "wrap") && !is_word(word, "sat") && !is_word(word, "fail")) {
                return "ERR Invalid OVERFLOW type specified";
            }
            overflow = is_word(word, "wrap")  ? Overflow::wrap
                       : is_word(word, "sat") ? Overflow::saturate
                                              : Overflow::fail;
            at += 2;
            continue;
        }
        Step step;
        const std::string_view error = read_step(words, at, step);
        if (!error.empty()) {
            return error;
        }
        step.overflow = overflow;
        steps.push_back(step);
    }
    return {};
}

/// The bits of a number, the first one the highest; what is behind the end is 0.
std::uint64_t load(const std::string& bytes, const Step& step) noexcept {
    std::uint64_t value = 0;
    for (std::uint64_t bit = step.offset; bit < step.offset + step.bits; ++bit) {
        const std::size_t byte = bit / 8;
        const unsigned set =
            byte < bytes.size() ? static_cast<unsigned char>(bytes[byte]) >> (7 - bit % 8) : 0;
        value = value << 1 | (set & 1);
    }
    return value;
}

void store(std::string& bytes, const Step& step, std::uint64_t value) {
    const std::size_t needed = (step.offset + step.bits - 1) / 8 + 1;
    bytes.resize(std::max(bytes.size(), needed));
    for (unsigned i = 0; i < step.bits; ++i) {
        const std::uint64_t bit = step.offset + i;
        const unsigned mask = 1U << (7 - bit % 8);
        const unsigned byte = static_cast<unsigned char>(bytes[bit / 8]);
        const bool set = (value >> (step.bits - 1 - i) & 1) != 0;
        bytes[bit / 8] = static_cast<char>(set ? byte | mask : byte & ~mask);
    }
}

/// The number that the bits are in the type: with its sign.
std::int64_t number_of(const Step& step, std::uint64_t bits) noexcept {
    if (step.is_signed && step.bits < 64 && (bits >> (step.bits - 1) & 1) != 0) {
        bits |= ~std::uint64_t{0} << step.bits;
    }
    return static_cast<std::int64_t>(bits);
}

/// The sum of `before` and `by` in this type; nothing where it overflows and that is to fail. Wide enough for
/// all sums of 64 bits.
std::optional<std::int64_t> sum(const Step& step, std::int64_t before, std::int64_t by) noexcept {
    __extension__ using Wide = __int128;
    const Wide one = 1;
    const Wide most = (one << (step.is_signed ? step.bits - 1 : step.bits)) - 1;
    const Wide least = step.is_signed ? -most - 1 : Wide{0};
    Wide exact = Wide{before} + by;
    if (!step.is_signed && step.kind == Step::Kind::set) {
        exact = static_cast<std::uint64_t>(before);  // a negative number is a large one here
    }
    // Redis holds in 64 bits how much more there is room for: a number so far below the type seems above it.
    const bool far_below = step.bits < 64 && most - before > std::numeric_limits<std::int64_t>::max();
    if (exact >= least && exact <= most) {
        return static_cast<std::int64_t>(exact);
    }
    switch (step.overflow) {
        case Overflow::saturate:
            return static_cast<std::int64_t>(exact > most || far_below ? most : least);
        case Overflow::wrap: {
            const auto bits = static_cast<std::uint64_t>(exact);
            const std::uint64_t mask =
                step.bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << step.bits) - 1;
            return number_of(step, bits & mask);
        }
        case Overflow::fail:
            break;
    }
    return std::nullopt;
}

/// Answers one step. True if it has written.
bool take(Call& call, const Step& step, std::string& bytes) {
    const std::int64_t before = number_of(step, load(bytes, step));
    if (step.kind == Step::Kind::get) {
        call.reply.integer(before);
        return false;
    }
    const bool sets = step.kind == Step::Kind::set;
    const std::optional<std::int64_t> after =
        sets ? sum(step, step.number, 0) : sum(step, before, step.number);
    if (!after) {
        call.reply.nil();
        return false;
    }
    store(bytes, step, static_cast<std::uint64_t>(*after));
    call.reply.integer(sets ? before : *after);
    return true;
}

/// Makes room for all that is to be written, as Redis does also where each step fails then. True if there was
/// less.
bool grow(std::string& bytes, const std::vector<Step>& steps) {
    std::size_t needed = bytes.size();
    for (const Step& step : steps) {
        const std::size_t end = (step.offset + step.bits - 1) / 8 + 1;
        needed = std::max(needed, step.kind == Step::Kind::get ? 0 : end);
    }
    const bool grows = needed > bytes.size();
    bytes.resize(needed);
    return grows;
}

}  // namespace

void run_bitfield(Call& call) {
    std::vector<Step> steps;
    const std::string_view error = read_steps(call.words, steps);
    if (!error.empty()) {
        call.reply.error(error);
        return;
    }
    Value* value = call.server.find(call.client, call.words[1]);
    if (value != nullptr && std::get_if<std::string>(&value->content) == nullptr) {
        call.reply.error(wrong_type);
        return;
    }
    const bool writes = std::any_of(steps.begin(), steps.end(),
                                    [](const Step& step) { return step.kind != Step::Kind::get; });
    std::string nothing;
    if (value == nullptr && writes) {
        value = &call.server.make(call.client, call.words[1]);
    }
    std::string& bytes = value != nullptr ? std::get<std::string>(value->content) : nothing;
    bool changed = grow(bytes, steps);
    call.reply.array(steps.size());
    for (const Step& step : steps) {
        changed = take(call, step, bytes) || changed;
    }
    if (changed) {
        call.server.changed(call.client, call.words);
    }
}

}  // namespace rate_limit::world
