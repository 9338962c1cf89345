// A node may send any bytes, in pieces of any size. Decoding them stays within the Reply, gives the same
// result for every size of piece, and yields no number below 0; read_common() reads the same as hiredis. The
// first byte of the input says how large the pieces are, and whether a command waits for the reply.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/common_reply.h"
#include "redis/decode.h"
#include "redis/reply.h"
#include "redis/script_reply.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::size_t max_replies = 64;

/// Questions to the scripts of buckets and of slots: with such seeds they say that another type has given
/// way.
constexpr Draw draw{100'000'000, 2'000'000'000, 3, 3, 1};
constexpr Hold hold{"0123456789abcdef", 1000, 20, 5, 4, 30'000};
constexpr Millis now = 1'700'000'000'123;

/// A reply as the module understands it.
struct Meaning {
    Window check, charge;
    std::int64_t increment = 0;
    Told drawn;
    Held held;
    Fault fault, of_check, of_charge, of_increment, of_draw, of_hold;
    bool evicts;
    std::string text;

    explicit Meaning(const Reply& reply)
        : fault(fault_of(reply)),
          of_check(read_check(reply, check)),
          of_charge(read_charge(reply, charge)),
          of_increment(read_increment(reply, increment)),
          of_draw(read_draw(reply, draw, now, drawn)),
          of_hold(read_held(reply, hold, held)),
          evicts(rate_limit::evicts(reply.text_view())),
          text(reply.text_view()) {}

    bool operator==(const Meaning& other) const {
        return fault == other.fault && of_check == other.of_check && of_charge == other.of_charge &&
               of_increment == other.of_increment && of_draw == other.of_draw && of_hold == other.of_hold &&
               drawn.granted == other.drawn.granted && drawn.clock == other.drawn.clock &&
               held.mine == other.held.mine && held.number == other.held.number &&
               check.used == other.check.used && check.reset == other.check.reset &&
               charge.used == other.charge.used && charge.reset == other.charge.reset &&
               increment == other.increment && evicts == other.evicts && text == other.text;
    }
};

void check_reply(const Reply& reply) {
    require(reply.count <= Reply::max_elements);
    require(reply.text_length < Reply::max_text);
    require(reply.text[reply.text_length] == '\0');
    require(reply.head.elements == 0);
    require(!reply.stray || reply.is_error());
}

/// A script's answer has what it promises, and perhaps says that another type has given way.
void check_script(const Reply& reply, std::size_t words, Fault fault) {
    const bool replaced = replaced_another_type(reply, words);
    require(fault != Fault::none || reply.count == (replaced ? words + 1 : words));
    require(!reply.is_error() || (fault == fault_of(reply) && !replaced));
}

void check_meaning(const Meaning& meaning, const Reply& reply) {
    require((meaning.fault != Fault::none) == reply.is_error());
    require(meaning.check.used >= 0 && meaning.check.reset >= 0);
    require(meaning.charge.used >= 0 && meaning.charge.reset >= 0);
    require(meaning.increment >= 0);
    require(meaning.drawn.granted >= 0 && meaning.drawn.granted <= draw.want && meaning.drawn.clock >= 0);
    require(meaning.held.mine >= 0 && meaning.held.others >= 0 && meaning.held.number >= 0);
    check_script(reply, words_of_charge, meaning.of_charge);
    check_script(reply, words_of_bucket, meaning.of_draw);
    check_script(reply, words_of_hold, meaning.of_hold);
    const bool replaced = replaced_another_type(reply, words_of_charge);
    require(meaning.of_charge != Fault::none || replaced == (meaning.of_check != Fault::none));
    require(meaning.of_charge != Fault::none || meaning.of_increment != Fault::none);
    for (Fault fault : {meaning.fault, meaning.of_check, meaning.of_charge, meaning.of_increment}) {
        require(!to_string(fault).empty());
    }
    if (reply.is_error()) {
        // To a check, a key of another type is no window.
        const bool no_window = meaning.fault == Fault::wrongtype;
        require(meaning.of_check == (no_window ? Fault::none : meaning.fault));
        require(meaning.of_increment == meaning.fault);
    }
}

/// Whether the last reply has been read to its end: only then may read_common() be called.
bool is_between_replies(const redisReader& reader) {
    return reader.err == 0 && (reader.ridx < 0 || reader.task[0]->type == -1);
}

std::vector<Meaning> decode(std::string_view bytes, std::size_t piece, bool awaited, bool common) {
    Reply reply;
    redisAsyncContext context{};
    redisCallback waiting{};
    context.replies.head = awaited ? &waiting : nullptr;
    reply.context = &context;
    std::unique_ptr<redisReader, void (*)(redisReader*)> reader(
        redisReaderCreateWithFunctions(&reply_functions), redisReaderFree);
    reader->privdata = &reply;

    std::vector<Meaning> meanings;
    while (!bytes.empty() && meanings.size() < max_replies) {
        const std::string_view next = bytes.substr(0, piece);
        bytes.remove_prefix(next.size());
        require(redisReaderFeed(reader.get(), next.data(), next.size()) == REDIS_OK);
        while (meanings.size() < max_replies) {
            void* object = nullptr;
            if (common && is_between_replies(*reader) && read_common(*reader, reply)) {
                object = &reply;
            } else if (redisReaderGetReply(reader.get(), &object) != REDIS_OK) {
                return meanings;
            }
            if (object == nullptr) {
                break;
            }
            require(object == &reply);
            check_reply(reply);
            meanings.emplace_back(reply);
            check_meaning(meanings.back(), reply);
            require(awaited || reply.stray);
        }
    }
    return meanings;
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) {
        return 0;
    }
    const bool awaited = data[0] < 128;
    const std::size_t piece = data[0] % 128 + 1;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    const auto whole = rate_limit::decode(bytes, size, awaited, false);
    rate_limit::require(whole == rate_limit::decode(bytes, piece, awaited, false));
    if (awaited) {
        rate_limit::require(whole == rate_limit::decode(bytes, size, awaited, true));
        rate_limit::require(whole == rate_limit::decode(bytes, piece, awaited, true));
    }
    return 0;
}
