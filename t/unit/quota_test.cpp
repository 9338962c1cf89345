#include "core/limit/quota.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit::quota_test {
namespace {

constexpr Millis now = 1'700'000'000'500;
constexpr Millis reset = 1'700'000'060'001;

Verdict verdict(std::int64_t limit, std::int64_t used, Outcome outcome) {
    return {"core", {limit, 3600}, {used, reset}, true, outcome};
}

std::string text(const Quota& quota, bool first, char* (*append)(char*, const Quota&, bool)) {
    std::array<char, max_ietf_member> room;
    return {room.data(), append(room.data(), quota, first)};
}

Quota quota_of(Verdict verdict, std::int64_t due, Millis at) {
    verdict.due = due;
    return rate_limit::quota_of(verdict, at);
}

TEST(Quota, CountsTheRequestIn) {
    const Quota quota = quota_of(verdict(5000, 10, Outcome::passed), 3, now);
    EXPECT_EQ(quota.name, "core");
    EXPECT_EQ(quota.limit, 5000);
    EXPECT_EQ(quota.period, 3600);
    EXPECT_EQ(quota.used, 13);
    EXPECT_EQ(quota.remaining, 4987);
    EXPECT_EQ(quota.reset, 1'700'000'061);
    EXPECT_EQ(quota.until, 60);
    EXPECT_FALSE(quota.retry);
}

TEST(Quota, SaysWhatIsLeftAndWhetherToRetry) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    struct Case {
        const char* name;
        std::int64_t used;
        Outcome outcome;
        bool never_fits;
        std::int64_t due;
        std::int64_t shown, remaining;
        bool retry;
    };
    const Case cases[] = {
        {"never below zero", 9, Outcome::passed, false, 5, 14, 0, false},
        {"a window that was reset meanwhile", -1, Outcome::passed, false, 2, 2, 8, false},
        {"an absurd count does not overflow", most - 1, Outcome::passed, false, 1'000'000'000, most, 0,
         false},
        {"a rejection has nothing left, though some is unused", 7, Outcome::rejected, false, 0, 7, 0, true},
        {"so has one in a dry run", 7, Outcome::rejected_dry_run, false, 0, 7, 0, false},
        {"a cost above the limit would not pass later either", 7, Outcome::rejected, true, 0, 7, 3, false},
        {"nor in a dry run", 7, Outcome::rejected_dry_run, true, 0, 7, 3, false},
    };
    for (const Case& one : cases) {
        Verdict judged = verdict(10, one.used, one.outcome);
        judged.never_fits = one.never_fits;
        const Quota quota = quota_of(judged, one.due, now);
        EXPECT_EQ(quota.used, one.shown) << one.name;
        EXPECT_EQ(quota.remaining, one.remaining) << one.name;
        EXPECT_EQ(quota.retry, one.retry) << one.name;
    }
}

/// Whatever a limit has said, no figure that its quota shows contradicts another.
TEST(Quota, FiguresAgree) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t limit = 40;
    for (int kind = 0; kind < 3 * 2 * 8; ++kind) {
        const auto outcome = static_cast<Outcome>(kind % 8);
        for (const std::int64_t used :
             {std::int64_t{-1}, std::int64_t{0}, std::int64_t{38}, limit, limit + 2, most}) {
            for (const std::int64_t due : {0, 1, 3, 41}) {
                for (const Millis end : {now - 5000, now, now + 1, now + 60'000}) {
                    Verdict judged = verdict(limit, used, outcome);
                    judged.bucket = kind / 16 == 0;
                    judged.slots = kind / 16 == 1;
                    judged.never_fits = kind / 8 % 2 == 1 && !judged.slots;
                    judged.window.reset = end;
                    const bool refused = outcome == Outcome::rejected || outcome == Outcome::rejected_dry_run;
                    const Quota quota = quota_of(judged, refused ? 0 : due, now);
                    SCOPED_TRACE(testing::Message() << "kind " << kind << ", used " << used << ", due " << due
                                                    << ", ends in " << end - now);
                    EXPECT_EQ(quota.limit, limit);
                    EXPECT_GE(quota.remaining, 0);
                    EXPECT_LE(quota.remaining, limit);
                    EXPECT_GE(quota.used, 0);
                    if (judged.bucket) {
                        EXPECT_EQ(quota.used, limit - quota.remaining);
                    }
                    if (refused && !judged.never_fits) {
                        EXPECT_EQ(quota.remaining, 0);
                        EXPECT_GE(quota.until, 1);
                    } else {
                        EXPECT_EQ(quota.remaining, std::max<std::int64_t>(0, limit - quota.used));
                    }
                    EXPECT_EQ(quota.retry, outcome == Outcome::rejected && !judged.never_fits);
                }
            }
        }
    }
}

TEST(Quota, HasMoreInASecondWhereOnlyRequestsInFlightFillIt) {
    Verdict filled = verdict(3, 1, Outcome::rejected);
    filled.in_flight = 2;
    for (const Outcome outcome : {Outcome::rejected, Outcome::rejected_dry_run}) {
        filled.outcome = outcome;
        const Quota quota = quota_of(filled, 0, now);
        EXPECT_EQ(quota.used, 1);
        EXPECT_EQ(quota.remaining, 0);
        EXPECT_EQ(quota.until, 1);
        EXPECT_EQ(quota.reset, reset_seconds(reset));
    }
}

TEST(Quota, OfABucketThatIsFullHasItsResetNow) {
    Verdict bucket = verdict(5000, 0, Outcome::passed);
    bucket.bucket = true;
    EXPECT_EQ(quota_of(bucket, 0, now).until, 0);
    EXPECT_EQ(quota_of(bucket, 1, now).until, seconds_until(reset, now));
    bucket.outcome = Outcome::rejected;
    EXPECT_EQ(quota_of(bucket, 0, now).until, seconds_until(reset, now));
}

TEST(GithubFields, AreFiveInOrder) {
    std::array<char, max_github_text> text{};
    std::array<Field, github_fields> fields;
    const Quota quota = quota_of(verdict(5000, 10, Outcome::passed), 1, now);
    EXPECT_EQ(put_github_fields(fields.data(), quota, text.data()), fields.data() + fields.size());
    const std::string_view expected[][2] = {
        {"X-RateLimit-Limit", "5000"},     {"X-RateLimit-Used", "11"},
        {"X-RateLimit-Remaining", "4989"}, {"X-RateLimit-Reset", "1700000061"},
        {"X-RateLimit-Resource", "core"},
    };
    for (std::size_t i = 0; i < fields.size(); ++i) {
        EXPECT_EQ(fields[i].name, expected[i][0]);
        EXPECT_EQ(fields[i].value, expected[i][1]);
    }
}

TEST(GithubFields, TakeDigitsThatAreThere) {
    std::array<char, max_github_text> text{};
    std::array<Field, github_fields> fields;
    const std::string digits = "5000";
    (void)put_github_fields(fields.data(), quota_of(verdict(5000, 10, Outcome::passed), 1, now), text.data(),
                            digits);
    EXPECT_EQ(fields[0].value.data(), digits.data());
    EXPECT_EQ(fields[1].value.data(), text.data());
    EXPECT_EQ(fields[1].value, "11");
}

TEST(RetryAfter, IsAtLeastOneSecond) {
    std::array<char, max_retry_after> text{};
    Quota quota = quota_of(verdict(10, 10, Outcome::rejected), 0, reset + 1);
    EXPECT_EQ(retry_after_field(quota, text.data()).name, "Retry-After");
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "1");
    quota.wait = 17;
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "17");
    quota.wait = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "9223372036854775807");
}

TEST(RetryAfter, IsSpreadByTheKey) {
    Verdict rejected = verdict(10, 10, Outcome::rejected);
    rejected.spread = 7;
    const Quota quota = quota_of(rejected, reset - 60'000);
    EXPECT_EQ(quota.until, 60);
    EXPECT_EQ(quota.wait, 67);
    std::array<int, 6> times{};
    for (int i = 0; i < 6'000; ++i) {
        const std::int64_t spread = spread_of("client " + std::to_string(i), 5);
        ASSERT_GE(spread, 0);
        ASSERT_LE(spread, 5);
        ++times.at(static_cast<std::size_t>(spread));
    }
    for (const int count : times) {
        EXPECT_NEAR(count, 1'000, 150);
    }
    EXPECT_EQ(spread_of("alice", 1'000), spread_of("alice", 1'000));
    EXPECT_EQ(spread_of("alice", 0), 0);
}

TEST(IetfFields, HaveOneMemberForEachLimit) {
    const Quota quota = quota_of(verdict(5000, 10, Outcome::passed), 1, reset - 3'540'000);
    EXPECT_EQ(text(quota, true, append_policy), "\"core\";q=5000;w=3600");
    EXPECT_EQ(text(quota, false, append_policy), ", \"core\";q=5000;w=3600");
    EXPECT_EQ(text(quota, true, append_limit), "\"core\";r=4989;t=3540");
    EXPECT_EQ(text(quota, false, append_limit), ", \"core\";r=4989;t=3540");
}

TEST(IetfFields, AMonthHasNoLengthInSeconds) {
    Verdict monthly = verdict(5000, 10, Outcome::passed);
    monthly.rate = {5000, longest(Calendar::month), Calendar::month};
    EXPECT_EQ(text(quota_of(monthly, 1, now), true, append_policy), "\"core\";q=5000");
}

TEST(IetfFields, TheLongestMemberFits) {
    const std::string name(32, 'n');
    Quota quota;
    quota.name = name;
    quota.limit = quota.remaining = max_limit;
    quota.period = max_period;
    quota.until = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(text(quota, false, append_policy), ", \"" + name + "\";q=1000000000000;w=31622400");
    EXPECT_EQ(text(quota, false, append_limit), ", \"" + name + "\";r=1000000000000;t=9223372036854775807");
    std::array<char, max_github_text> room{};
    std::array<Field, github_fields> fields;
    (void)put_github_fields(fields.data(), quota, room.data());
    EXPECT_EQ(fields[4].value, name);
}

TEST(Quota, OfSlotsHasAResetOnlyWhereTheyReject) {
    Verdict verdict;
    verdict.name = "slots";
    verdict.rate = {20, 1};
    verdict.slots = true;
    verdict.known = true;
    verdict.window = {16, 1'700'000'001'500};
    verdict.outcome = Outcome::passed;
    verdict.due = 1;
    Quota quota = quota_of(verdict, 1'700'000'000'500);
    EXPECT_EQ(text(quota, true, append_policy), "\"slots\";q=20;qu=\"concurrent-requests\"");
    EXPECT_EQ(text(quota, true, append_limit), "\"slots\";r=3");
    Field fields[github_fields];
    char numbers[max_github_text];
    EXPECT_EQ(put_github_fields(fields, quota, numbers) - fields, 4) << "no reset";

    verdict.outcome = Outcome::rejected;
    verdict.due = 0;
    quota = quota_of(verdict, 1'700'000'000'500);
    EXPECT_EQ(quota.until, 1);
    EXPECT_TRUE(quota.retry);
    EXPECT_EQ(put_github_fields(fields, quota, numbers) - fields, 5);
    EXPECT_EQ(fields[3].value, "1700000002");
}

}  // namespace
}  // namespace rate_limit::quota_test
