#include "redis/bucket_reply.h"

#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/limit/bucket.h"
#include "raw_reply.h"

namespace rate_limit {
namespace {

constexpr Millis now = 1'700'000'000'123;
constexpr Nanos token = 100'000'000;
constexpr Nanos fill = 20 * token;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

std::string numbers(const std::vector<std::int64_t>& all) {
    std::string bytes = "*" + std::to_string(all.size()) + "\r\n";
    for (const std::int64_t number : all) {
        bytes += ":" + std::to_string(number) + "\r\n";
    }
    return bytes;
}

TEST(BucketReply, TellsWhatWasTakenAndWhenItIsFull) {
    std::int64_t taken = 7;
    Window bucket;
    EXPECT_EQ(
        read_draw(*RawReply(numbers({3, 17, 3 * token, 0})), {token, fill, 3, 3, 1}, now, taken, bucket),
        Fault::none);
    EXPECT_EQ(taken, 3);
    EXPECT_EQ(bucket.used, nanos_of(now) + 3 * token);
    EXPECT_EQ(bucket.reset, now + 300);
    EXPECT_EQ(read_draw(*RawReply(numbers({0, 2, 18 * token + 1, token})), {token, fill, 3, 3, 1}, now, taken,
                        bucket),
              Fault::none);
    EXPECT_EQ(taken, 0);
    EXPECT_EQ(bucket.reset, now + 1801);
    EXPECT_EQ(read_draw(*RawReply(numbers({0, 20, 0, 0})), {token, fill, -3, 0, 1}, now, taken, bucket),
              Fault::none);
    EXPECT_EQ(bucket.reset, now) << "a full bucket";
    EXPECT_EQ(
        read_draw(*RawReply(numbers({30, 0, 2 * fill, 0})), {token, fill, 30, 0, 0}, now, taken, bucket),
        Fault::none)
        << "a charge in any case, of a bucket that another limit has emptied further";
}

TEST(BucketReply, IsNotBelievedWhereTheScriptCannotSayIt) {
    const Draw draw{token, fill, 10, 5, 1};
    for (const auto& odd : std::vector<std::vector<std::int64_t>>{
             {11, 9, 11 * token, 0},     // more than was wanted
             {4, 16, 4 * token, 0},      // less than was needed
             {0, 5, 15 * token, 0},      // nothing where enough is left
             {10, 21, 10 * token, 0},    // more left than it holds
             {10, 10, 9 * token, 0},     // not missing afterwards
             {10, 10, max_fill + 1, 0},  // full in a hundred years
             {10, 10, huge, 0},
             {huge, 0, fill, 0},
             {-1, 0, fill, 0},
             {0, -1, fill, 0},
             {0, 0, -1, 0},
             {0, 0, fill, -1},
             {10, 10, 10 * token},
             {10, 10},
         }) {
        std::int64_t taken = 7;
        Window bucket;
        EXPECT_EQ(read_draw(*RawReply(numbers(odd)), draw, now, taken, bucket), Fault::malformed)
            << numbers(odd);
        EXPECT_EQ(taken, 0);
        EXPECT_EQ(bucket.reset, 0);
    }
    std::int64_t taken = 7;
    Window bucket;
    for (const char* bytes : {":10\r\n", "$-1\r\n", "+OK\r\n", "*4\r\n:1\r\n:1\r\n:1\r\n$-1\r\n", "*0\r\n"}) {
        EXPECT_EQ(read_draw(*RawReply(bytes), draw, now, taken, bucket), Fault::malformed) << bytes;
    }
    EXPECT_EQ(read_draw(*RawReply("-NOSCRIPT x\r\n"), draw, now, taken, bucket), Fault::noscript);
    EXPECT_EQ(
        read_draw(*RawReply(numbers({3, 17, 3 * token, 0})), {token, fill, -3, 0, 1}, now, taken, bucket),
        Fault::malformed)
        << "what is put back takes nothing";
}

TEST(BucketReply, ReadsHowLongItsKeyLives) {
    Window bucket;
    EXPECT_EQ(read_life(*RawReply(":1501\r\n"), now, bucket), Fault::none);
    EXPECT_EQ(bucket.used, nanos_of(now + 500));
    EXPECT_EQ(bucket.reset, now + 500);
    for (const char* full :
         {":-2\r\n", ":-1\r\n", ":0\r\n", ":1000\r\n", ":1001\r\n", ":9223372036854775807\r\n"}) {
        EXPECT_EQ(read_life(*RawReply(full), now, bucket), Fault::none) << full;
        EXPECT_EQ(bucket.reset, 0) << full;
    }
    for (const char* odd : {"$1\r\n5\r\n", "*1\r\n:1501\r\n", "+OK\r\n", "$-1\r\n"}) {
        EXPECT_EQ(read_life(*RawReply(odd), now, bucket), Fault::malformed) << odd;
    }
    EXPECT_EQ(read_life(*RawReply("-LOADING x\r\n"), now, bucket), Fault::loading);
}

}  // namespace
}  // namespace rate_limit
