#include "redis/script_reply.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/limit/bucket.h"
#include "raw_reply.h"

namespace rate_limit::bucket_reply_test {
namespace {

constexpr Millis now = 1'700'000'000'123;
constexpr Nanos token = 100'000'000;
constexpr Nanos fill = 20 * token;
constexpr std::int64_t told_micros = 1'700'000'000'123'456;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

std::string numbers(const std::vector<std::int64_t>& all) {
    std::string bytes = "*" + std::to_string(all.size()) + "\r\n";
    for (const std::int64_t number : all) {
        bytes += ":" + std::to_string(number) + "\r\n";
    }
    return bytes;
}

TEST(BucketReply, TellsWhatWasTakenAndWhenItIsFull) {
    Told told;
    EXPECT_EQ(read_draw(*RawReply(numbers({3, 17, 3 * token, 0, told_micros, 0, 0})), {token, fill, 3, 3, 1},
                        now, told),
              Fault::none);
    EXPECT_EQ(told.granted, 3);
    EXPECT_EQ(told.window.used, nanos_of(now) + 3 * token);
    EXPECT_EQ(told.window.reset, now + 300);
    EXPECT_EQ(read_draw(*RawReply(numbers({0, 2, 18 * token + 1, token, told_micros, 0, 0})),
                        {token, fill, 3, 3, 1}, now, told),
              Fault::none);
    EXPECT_EQ(told.granted, 0);
    EXPECT_EQ(told.window.reset, now + 1801);
    EXPECT_EQ(
        read_draw(*RawReply(numbers({0, 20, 0, 0, told_micros, 0, 0})), {token, fill, -3, 0, 1}, now, told),
        Fault::none);
    EXPECT_EQ(told.window.reset, now) << "a full bucket";
    EXPECT_EQ(read_draw(*RawReply(numbers({30, 0, 2 * fill, 0, told_micros, 0, 0})), {token, fill, 30, 0, 0},
                        now, told),
              Fault::none)
        << "a charge in any case, of a bucket that another limit has emptied further";
    EXPECT_EQ(read_draw(*RawReply(numbers({3, 17, 3 * token, 0, told_micros, 0, 0, 1})),
                        {token, fill, 3, 3, 1}, now, told),
              Fault::none)
        << "another type has given way";
    EXPECT_EQ(told.granted, 3);
}

TEST(BucketReply, IsNotBelievedWhereTheScriptCannotSayIt) {
    const Draw draw{token, fill, 10, 5, 1};
    for (const auto& odd : std::vector<std::vector<std::int64_t>>{
             {11, 9, 11 * token, 0, told_micros, 0, 0},     // more than was wanted
             {4, 16, 4 * token, 0, told_micros, 0, 0},      // less than was needed
             {0, 5, 15 * token, 0, told_micros, 0, 0},      // nothing where enough is left
             {0, 0, 0, 0, told_micros, 0, 0},               // nothing left of a full bucket
             {10, 21, 10 * token, 0, told_micros, 0, 0},    // more left than it holds
             {10, 10, 9 * token, 0, told_micros, 0, 0},     // less missing than was granted
             {10, 10, max_fill + 1, 0, told_micros, 0, 0},  // full in a hundred years
             {10, 10, huge, 0, told_micros, 0, 0},
             {huge, 0, fill, 0, told_micros, 0, 0},
             {-1, 0, fill, 0, told_micros, 0, 0},
             {0, -1, fill, 0, told_micros, 0, 0},
             {0, 0, -1, 0, told_micros, 0, 0},
             {0, 0, fill, -1, told_micros, 0, 0},
             {10, 10, 10 * token, told_micros, 0, 0},
             {10, 10},
             {10, 10, 10 * token, 0, -1, 0, 0},
             {10, 10, 10 * token, 0, told_micros, -1, 0},
             {10, 10, 10 * token, 0, told_micros, 0, std::int64_t{1} << 32},
             {10, 10, 10 * token, 0, told_micros, 0},
             {10, 10, 10 * token, 0, told_micros, 0, 0, 0},
             {10, 10, 10 * token, 0, told_micros, 0, 0, 2},
             {11, 9, 11 * token, 0, told_micros, 0, 0, 1},
             {10, 10, 10 * token, 0, huge, 0, 0},             // no instant
             {10, 10, 10 * token, 0, huge / 2000 + 1, 0, 0},  // with a hundred years more it were none
         }) {
        Told told;
        told.granted = 7;
        EXPECT_EQ(read_draw(*RawReply(numbers(odd)), draw, now, told), Fault::malformed) << numbers(odd);
        EXPECT_EQ(told.granted, 0);
        EXPECT_EQ(told.window.reset, 0);
    }
    Told told;
    for (const char* bytes :
         {":10\r\n", "$-1\r\n", "+OK\r\n", "*7\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n$-1\r\n", "*0\r\n"}) {
        EXPECT_EQ(read_draw(*RawReply(bytes), draw, now, told), Fault::malformed) << bytes;
    }
    EXPECT_EQ(read_draw(*RawReply("-NOSCRIPT x\r\n"), draw, now, told), Fault::noscript);
    EXPECT_EQ(read_draw(*RawReply(numbers({3, 17, 3 * token, 0, told_micros, 0, 0})), {token, fill, -3, 0, 1},
                        now, told),
              Fault::malformed)
        << "what is put back takes nothing";
}

/// The script reckons in doubles: of a fill of years they are off by some nanoseconds.
TEST(BucketReply, IsBelievedWhereLongFillsAreRounded) {
    constexpr Nanos years = 300'000'000'000'000'000;
    Told told;
    for (const std::int64_t parts : {0, 1}) {
        EXPECT_EQ(read_draw(*RawReply(numbers({0, years - 1064, 1000, 0, told_micros, 0, 0})),
                            {1, years, 0, 0, parts}, now, told),
                  Fault::none)
            << parts;
    }
    EXPECT_EQ(read_draw(*RawReply(numbers({0, 4, years - 5 * token, 0, told_micros, 0, 0})),
                        {token, years, 10, 5, 1}, now, told),
              Fault::none);
}

TEST(BucketReply, TellsTheTimeOfItsServerAndWhatWasGivenBack) {
    Told told;
    const Draw draw{token, fill, 3, 3, 1};
    EXPECT_EQ(read_draw(*RawReply(numbers({3, 17, 3 * token, 0, told_micros, 0, 0})), draw, now, told),
              Fault::none);
    EXPECT_EQ(told.clock, told_micros * 1000);
    EXPECT_EQ(told.receipt.mark, static_cast<std::uint64_t>(told.clock + 3 * token));
    EXPECT_EQ(told.receipt.at, told.clock);
    constexpr std::uint64_t returned = 0xfedc'ba98'7654'3210;
    EXPECT_EQ(read_draw(*RawReply(numbers({3, 17, 3 * token, 0, told_micros, 0xfedc'ba98, 0x7654'3210})),
                        draw, now, told),
              Fault::none);
    EXPECT_EQ(told.returned, returned);
    EXPECT_EQ(told.receipt.mark, static_cast<std::uint64_t>(told.clock + 3 * token) + returned);
    EXPECT_EQ(receipt_of({told.clock, told.clock, token}, 3 * token, returned).mark, told.receipt.mark)
        << "of a plain command as well";
    EXPECT_EQ(read_draw(*RawReply("-OOM x\r\n"), draw, now, told), Fault::oom);
    EXPECT_EQ(told.clock, 0);
}

constexpr std::int64_t sign = std::numeric_limits<std::int64_t>::min();
constexpr Nanos at = told_micros * 1000;

TEST(BucketReply, TellsWhatAPlainCommandHasLeft) {
    const Taking taking{at, at, 2 * token};
    Nanos missing = 0;
    bool stored = false;
    EXPECT_EQ(read_taking(*RawReply(numbers({3 * token, sign + at + 5 * token})), taking, missing, stored),
              Fault::none);
    EXPECT_TRUE(stored);
    EXPECT_EQ(missing, 5 * token);
    EXPECT_EQ(read_taking(*RawReply(numbers({0, sign + at + 2 * token})), taking, missing, stored),
              Fault::none);
    EXPECT_TRUE(stored) << "it had been full";
    EXPECT_EQ(missing, 2 * token);
    const Taking uncertain{at, at + token, 2 * token};
    EXPECT_EQ(read_taking(*RawReply(numbers({3 * token, sign + at + 6 * token})), uncertain, missing, stored),
              Fault::none);
    EXPECT_EQ(missing, 5 * token) << "at the latest time";
    EXPECT_EQ(receipt_of(uncertain, missing, 7).mark, static_cast<std::uint64_t>(at + 6 * token + 7));
    EXPECT_EQ(receipt_of(uncertain, missing, 7).at, at);
    for (const std::int64_t unsigned_one : {at + 2 * token, std::int64_t{0}, huge}) {
        EXPECT_EQ(read_taking(*RawReply(numbers({0, unsigned_one})), taking, missing, stored), Fault::none);
        EXPECT_FALSE(stored);
    }
}

TEST(BucketReply, TellsWhatIsLeftOfABucketThatIsNotFull) {
    const Taking taking{at, at + token, 2 * token, true};
    Nanos missing = 0;
    bool stored = false;
    const auto left_by = [&](Nanos until_full) {
        EXPECT_EQ(read_taking(*RawReply(numbers({sign + at + until_full})), taking, missing, stored),
                  Fault::none);
        EXPECT_TRUE(stored);
        return taking.fits(missing, fill);
    };
    EXPECT_TRUE(left_by(6 * token));
    EXPECT_EQ(missing, 5 * token) << "at the latest time";
    EXPECT_TRUE(left_by(fill));
    EXPECT_FALSE(left_by(fill + 1)) << "by the earliest time it had not so much";
    EXPECT_TRUE(left_by(3 * token)) << "it was full just then";
    EXPECT_FALSE(left_by(3 * token - 1)) << "it had been full before, and so lost less than the cost";
    EXPECT_FALSE(left_by(-at));
    EXPECT_EQ(read_taking(*RawReply(numbers({2 * token})), taking, missing, stored), Fault::none);
    EXPECT_FALSE(stored);
    for (const auto& odd : std::vector<std::vector<std::int64_t>>{{}, {0, sign + at + 5 * token}}) {
        EXPECT_EQ(read_taking(*RawReply(numbers(odd)), taking, missing, stored), Fault::malformed);
    }
    for (const char* bytes : {":10\r\n", "*1\r\n$-1\r\n", "+OK\r\n"}) {
        EXPECT_EQ(read_taking(*RawReply(bytes), taking, missing, stored), Fault::malformed) << bytes;
    }
}

TEST(BucketReply, IsNotBelievedWhereAPlainCommandCannotSayIt) {
    const Taking taking{at, at, 2 * token};
    Nanos missing = 0;
    bool stored = false;
    for (const auto& odd : std::vector<std::vector<std::int64_t>>{{0, sign + at + token},
                                                                  {0, sign + at + 3 * token},
                                                                  {0, sign},
                                                                  {0, -1},
                                                                  {-1, sign + at + 2 * token},
                                                                  {sign, sign},
                                                                  {0},
                                                                  {0, sign + at + 2 * token, 0}}) {
        EXPECT_EQ(read_taking(*RawReply(numbers(odd)), taking, missing, stored), Fault::malformed)
            << numbers(odd);
        EXPECT_FALSE(stored);
    }
    for (const char* bytes : {":10\r\n", "$-1\r\n", "+OK\r\n", "*2\r\n:0\r\n$-1\r\n", "*0\r\n"}) {
        EXPECT_EQ(read_taking(*RawReply(bytes), taking, missing, stored), Fault::malformed) << bytes;
    }
    EXPECT_EQ(read_taking(*RawReply("-WRONGTYPE x\r\n"), taking, missing, stored), Fault::wrongtype);
}

}  // namespace
}  // namespace rate_limit::bucket_reply_test
