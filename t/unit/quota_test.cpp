#include "core/limit/quota.h"

#include <array>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit {
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

TEST(Quota, RemainingIsNeverBelowZero) {
    const Quota quota = quota_of(verdict(10, 9, Outcome::passed), 5, now);
    EXPECT_EQ(quota.used, 14);
    EXPECT_EQ(quota.remaining, 0);
}

TEST(Quota, ARejectionHasExactlyNothingLeft) {
    // The cost did not fit, but some of the limit is unused.
    Quota quota = quota_of(verdict(10, 7, Outcome::rejected), 0, now);
    EXPECT_EQ(quota.used, 7);
    EXPECT_EQ(quota.remaining, 0);
    EXPECT_TRUE(quota.retry);

    quota = quota_of(verdict(10, 7, Outcome::rejected_dry_run), 0, now);
    EXPECT_EQ(quota.remaining, 0);
    EXPECT_FALSE(quota.retry);
}

TEST(Quota, ACostAboveTheWholeLimitLeavesWhatIsLeft) {
    Verdict never = verdict(10, 7, Outcome::rejected);
    never.never_fits = true;
    Quota quota = quota_of(never, 0, now);
    EXPECT_EQ(quota.used, 7);
    EXPECT_EQ(quota.remaining, 3);
    EXPECT_FALSE(quota.retry);  // the request would not pass later either

    never.outcome = Outcome::rejected_dry_run;
    quota = quota_of(never, 0, now);
    EXPECT_EQ(quota.remaining, 3);
    EXPECT_FALSE(quota.retry);
}

TEST(Quota, AbsurdCountDoesNotOverflow) {
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Quota quota = quota_of(verdict(10, most - 1, Outcome::passed), 1'000'000'000, now);
    EXPECT_EQ(quota.used, most);
    EXPECT_EQ(quota.remaining, 0);
}

TEST(GithubFields, AreFiveInOrder) {
    std::array<char, GithubFields::max_text> text{};
    const GithubFields github =
        github_fields(quota_of(verdict(5000, 10, Outcome::passed), 1, now), text.data());
    const std::string_view expected[][2] = {
        {"X-RateLimit-Limit", "5000"},     {"X-RateLimit-Used", "11"},
        {"X-RateLimit-Remaining", "4989"}, {"X-RateLimit-Reset", "1700000061"},
        {"X-RateLimit-Resource", "core"},
    };
    for (std::size_t i = 0; i < GithubFields::count; ++i) {
        EXPECT_EQ(github.fields[i].name, expected[i][0]);
        EXPECT_EQ(github.fields[i].value, expected[i][1]);
    }
}

TEST(RetryAfter, IsAtLeastOneSecond) {
    Quota quota;
    std::array<char, max_retry_after> text{};
    EXPECT_EQ(retry_after_field(quota, text.data()).name, "Retry-After");
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "1");
    quota.until = 17;
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "17");
    quota.until = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ(retry_after_field(quota, text.data()).value, "9223372036854775807");
}

TEST(IetfFields, HaveOneMemberForEachLimit) {
    Quota quota;
    quota.name = "core";
    quota.limit = 5000;
    quota.period = 3600;
    quota.remaining = 4999;
    quota.until = 3540;
    EXPECT_EQ(text(quota, true, append_policy), "\"core\";q=5000;w=3600");
    EXPECT_EQ(text(quota, false, append_policy), ", \"core\";q=5000;w=3600");
    EXPECT_EQ(text(quota, true, append_limit), "\"core\";r=4999;t=3540");
    EXPECT_EQ(text(quota, false, append_limit), ", \"core\";r=4999;t=3540");
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
    std::array<char, GithubFields::max_text> room{};
    EXPECT_EQ(github_fields(quota, room.data()).fields[4].value, name);
}

}  // namespace
}  // namespace rate_limit
