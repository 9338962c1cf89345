#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "bucket_model.h"
#include "core/bucket/bucket_account.h"

namespace rate_limit::bucket_refund_simulation_test {
namespace {

constexpr Millis start = 1'700'000'000'000;

enum class Rule {
    receipt,    // refunds what has not been refilled, and what went back meanwhile may have been older
    instant,    // refunds what has not been refilled, as if nothing had gone back meanwhile
    all_of_it,  // refunds all, while the bucket cannot have been full
};

/// Requests of one client, which take their cost when they come and give it back when they end, if they were
/// free. What was charged is counted when it came.
class Requests {
public:
    Requests(unsigned seed, Bucket bucket, Rule rule) : random_(seed), bucket_(bucket), rule_(rule) {}

    bool begin(std::int64_t cost, bool free, Millis ends) {
        if (!take(record_, bucket_, now, cost)) {
            return false;
        }
        running_.push_back({cost, free, ends, record_.reset, receipt_of(record_, now), returned()});
        if (!free) {
            charged_.emplace_back(now, cost);
        }
        return true;
    }

    /// All that end by now, in any order.
    void end() {
        std::shuffle(running_.begin(), running_.end(), random_);
        for (const Running& one : running_) {
            if (one.ends <= now && one.free && one.full_at > now) {
                refund(one);
            }
        }
        running_.erase(std::remove_if(running_.begin(), running_.end(),
                                      [this](const Running& one) { return one.ends <= now; }),
                       running_.end());
    }

    /// How much more than burst + rate * T has been charged, in any T.
    double over() const {
        ModelMeter meter(bucket_.fill());
        for (const auto& [at, cost] : charged_) {
            meter.admit(nanos_of(at), cost * bucket_.token());
        }
        return static_cast<double>(meter.over) / static_cast<double>(bucket_.token());
    }

    std::int64_t given_back() const { return given_back_; }

    Millis now = start;

private:
    struct Running {
        std::int64_t cost;
        bool free;
        Millis ends;
        Millis full_at;
        BucketReceipt receipt;
        std::uint64_t returned;
    };

    std::uint64_t returned() const {
        return receipt_of(record_, now).mark - static_cast<std::uint64_t>(record_.full_at);
    }

    void refund(const Running& one) {
        const Nanos before = record_.full_at;
        if (rule_ == Rule::all_of_it) {
            give_back(record_, bucket_, now, one.cost);
        } else {
            const std::uint64_t since = rule_ == Rule::instant ? returned() - one.returned : 0;
            give_back(record_, bucket_, now, one.cost, {one.receipt.mark + since, one.receipt.at});
        }
        given_back_ += before - record_.full_at;
    }

    std::mt19937 random_;
    Bucket bucket_;
    Rule rule_;
    BucketRecord record_;
    std::vector<Running> running_;
    std::vector<std::pair<Millis, std::int64_t>> charged_;
    std::int64_t given_back_ = 0;
};

/// A client that changes its mind at random: how many come, how many are free, how long they take.
double most_over(Rule rule, unsigned seeds, std::int64_t& given_back) {
    double most = -1e18;
    for (unsigned seed = 0; seed < seeds; ++seed) {
        std::mt19937 random(seed);
        const auto one_of = [&random](std::int64_t a, std::int64_t b) {
            return std::uniform_int_distribution<std::int64_t>(a, b)(random);
        };
        const Bucket bucket = *Bucket::of({one_of(1, 50), 1}, one_of(1, 60));
        Requests requests(seed, bucket, rule);
        for (int phase = 0; phase < 60; ++phase) {
            const std::int64_t free = one_of(0, 3);  // thirds
            const std::int64_t longest = one_of(0, 2) == 0 ? 1 : bucket.fill() / nanos_in_milli + 1;
            const std::int64_t tries = one_of(1, 2 * bucket.burst());
            const bool at_once = one_of(0, 1) == 0;
            for (std::int64_t i = 0; i < tries; ++i) {
                requests.now += at_once ? 0 : one_of(0, 2 * bucket.token() / nanos_in_milli);
                requests.end();
                (void)requests.begin(one_of(1, 3), one_of(1, 3) <= free, requests.now + one_of(0, longest));
            }
            requests.now += one_of(0, 1) == 0 ? 0 : one_of(0, bucket.fill() / nanos_in_milli);
            requests.end();
        }
        most = std::max(most, requests.over());
        given_back += requests.given_back();
    }
    return most;
}

TEST(BucketRefund, NeverLetsThroughMoreThanBurstAndRateOfWhatIsCharged) {
    std::int64_t given_back = 0;
    EXPECT_LE(most_over(Rule::receipt, 3000, given_back), 0.0);
    EXPECT_GT(given_back, 0);
}

TEST(BucketRefund, WithoutReceiptsItWould) {
    std::int64_t given_back = 0;
    EXPECT_GT(most_over(Rule::all_of_it, 300, given_back), 5.0);
    EXPECT_GT(most_over(Rule::instant, 300, given_back), 1.0);
}

/// Free requests that take a while, and the bucket fills up beside them.
TEST(BucketRefund, OldTokensAreNotExchangedForYoungOnes) {
    const auto charged_at_once = [](Rule rule) {
        const Bucket bucket = *Bucket::of({10, 1}, 20);
        Requests requests(1, bucket, rule);
        for (int i = 0; i < 20; ++i) {
            EXPECT_TRUE(requests.begin(1, true, start + (i < 10 ? 0 : 1000)));
        }
        requests.end();
        requests.now += 999;
        int charged = 0;
        for (; requests.begin(1, false, requests.now); ++charged) {
        }
        requests.now += 1;
        requests.end();
        for (; requests.begin(1, false, requests.now); ++charged) {
        }
        return charged;
    };
    EXPECT_LE(charged_at_once(Rule::receipt), 20);
    EXPECT_GE(charged_at_once(Rule::instant), 29);
}

TEST(BucketRefund, WhatIsFreeAndQuickCostsNothing) {
    const Bucket bucket = *Bucket::of({10, 1}, 20);
    Requests requests(1, bucket, Rule::receipt);
    for (int i = 0; i < 10'000; ++i) {
        ASSERT_TRUE(requests.begin(20, true, requests.now)) << i;
        requests.end();
        requests.now += i % 7;
    }
}

TEST(BucketRefund, WhatIsFreeAndSlowCostsNothingWhileTheBucketIsInUse) {
    const Bucket bucket = *Bucket::of({10, 1}, 20);
    Requests requests(1, bucket, Rule::receipt);
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(requests.begin(1, false, start));
    }
    ASSERT_TRUE(requests.begin(10, true, start + 500));
    requests.now += 500;
    requests.end();
    for (int i = 0; i < 15; ++i) {
        EXPECT_TRUE(requests.begin(1, false, requests.now)) << i;
    }
    EXPECT_FALSE(requests.begin(1, false, requests.now));
}

/// Those that came last end first: what goes back of them counts as if it had been older. So each costs what
/// is refilled while it runs, until the bucket lacks as much as runs at a time.
TEST(BucketRefund, OfMoreThanRunAtATimeNothingIsLost) {
    const Bucket bucket = *Bucket::of({20, 3600}, 60);
    Requests requests(1, bucket, Rule::receipt);
    for (int round = 0; round < 3000; ++round) {
        for (int i = 0; i < 19; ++i) {
            ASSERT_TRUE(requests.begin(1, true, requests.now + 1000 - 50 * i)) << round;
        }
        for (int i = 0; i < 100; ++i) {
            requests.now += 10;
            requests.end();
        }
    }
    EXPECT_TRUE(requests.begin(35, false, requests.now));
}

}  // namespace
}  // namespace rate_limit::bucket_refund_simulation_test
