#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "core/bucket/bucket_tokens.h"

namespace rate_limit {

/// The primary of one bucket: does what lua/bucket.lua does. Its time is in nanoseconds.
class ModelBucket {
public:
    explicit ModelBucket(Nanos token) : token_(token) {}

    std::int64_t draw(Nanos now, std::int64_t burst, std::int64_t want, std::int64_t least) {
        const Nanos fill = burst * token_;
        const Nanos missing = std::max<Nanos>(full_at_ - now, 0);
        const std::int64_t granted = std::min(want, std::max<Nanos>(fill - missing, 0) / token_);
        if (granted < least) {
            return 0;
        }
        full_at_ = now + missing + granted * token_;
        return granted;
    }

    void refund(Nanos now, Nanos cost) { full_at_ = std::max(full_at_ - cost, now); }

private:
    Nanos token_;
    Nanos full_at_ = 0;
};

/// A bucket that all admitted requests are taken from when they pass: how much more than burst + rate * T has
/// passed, in any T.
class ModelMeter {
public:
    ModelMeter(std::int64_t burst, Nanos token) : burst_(burst), token_(token) {}

    void admit(Nanos now, std::int64_t cost) {
        full_at_ = std::max(full_at_, now) + cost * token_;
        admitted += cost;
        over = std::max(over, static_cast<double>(full_at_ - now) / static_cast<double>(token_) -
                                  static_cast<double>(burst_));
    }

    std::int64_t admitted = 0;
    double over = -1e18;

private:
    std::int64_t burst_;
    Nanos token_;
    Nanos full_at_ = 0;
};

/// What a machine of the model may do wrong, for a test to see it fail.
struct LeaseRules {
    bool cut = true;       ///< Redis is asked with a smaller burst
    bool die = true;       ///< tokens die
    bool discount = true;  ///< less goes back, the older tokens are
    std::int64_t fixed = 0;
};

/// Machines that lease tokens of one bucket, in steps of a millisecond.
class BucketLeaseModel {
public:
    BucketLeaseModel(unsigned seed, const Bucket& bucket, int machines, const LeaseRules& rules)
        : meter(bucket.burst(), bucket.token()),
          bucket_(bucket),
          lease_(*lease_of(bucket)),
          rules_(rules),
          redis_(bucket.token()),
          machines_(static_cast<std::size_t>(machines)),
          random_(seed) {}

    /// A request comes to a machine.
    void request(std::size_t at, std::int64_t cost = 1) {
        Machine& machine = machines_.at(at);
        ++requests;
        if (spend_here(machine, cost)) {
            meter.admit(real_now(), cost);
        } else if (!machine.fetches.empty() && machine.fetches.back().unclaimed >= cost) {
            take_seat(machine.fetches.back(), cost);
        } else if (machine.fetches.size() < most_fetches) {
            fetch(machine, cost);
        }
    }

    /// All that a machine has goes back, as when it ends, or what is dead of it.
    void look(std::size_t at, bool all) {
        Machine& machine = machines_.at(at);
        give_back(take_dying(machine.record, terms(), all));
    }

    /// Time goes on; what comes in is taken in.
    void step() {
        ++now_;
        for (std::size_t i = 0; i < refunds_.size();) {
            if (refunds_[i].at > now_) {
                ++i;
                continue;
            }
            redis_.refund(real_now(), refunds_[i].cost);
            refunds_[i] = refunds_.back();
            refunds_.pop_back();
        }
        for (Machine& machine : machines_) {
            step(machine);
        }
    }

    Millis life() const { return lease_.life; }
    std::size_t size() const { return machines_.size(); }
    std::mt19937& random() { return random_; }

    ModelMeter meter;
    std::int64_t requests = 0;
    std::int64_t calls = 0;

private:
    /// Of one machine at a time: a batch, and others beside it.
    static constexpr std::size_t most_fetches = 3;

    struct Fetch {
        Millis asked = 0;
        Millis asks_at = 0;  // when Redis hears it
        Millis answer_at = 0;
        std::int64_t cost = 0;  // of the request that asked
        std::int64_t want = 0;
        std::int64_t unclaimed = 0;  // of these, by those that have seats
        bool batch = false;
        std::int64_t granted = -1;
        std::int64_t served = 0;
    };

    struct Machine {
        WindowRecord record;
        std::vector<Fetch> fetches;  // on their way
    };

    struct Refund {
        Millis at;
        Nanos cost;
    };

    /// Up to a millisecond later than the machines' clocks say.
    Nanos real_now() { return nanos_of(now_) + static_cast<Nanos>(random_() % 1'000'000); }

    TokenTerms terms() const { return {bucket_.token(), lease_.life, static_cast<Ticks>(now_)}; }

    bool spend_here(Machine& machine, std::int64_t cost) {
        if (rules_.die) {
            return spend(machine.record, terms(), cost);
        }
        const bool enough = at_hand(machine.record) >= cost;
        machine.record.leased = static_cast<std::uint64_t>(at_hand(machine.record) - (enough ? cost : 0));
        return enough;
    }

    void fetch(Machine& machine, std::int64_t cost) {
        const bool slow = random_() % 50 == 0;
        Fetch fetch;
        std::int64_t size = begin_batch(machine.record, terms());
        fetch.batch = size != 0;
        size = fetch.batch ? size : size_beside(machine.record, terms());
        if (rules_.fixed != 0) {
            size = fetch.batch ? rules_.fixed : std::min(size, rules_.fixed);
        }
        fetch.cost = cost;
        fetch.want = std::max(size, cost);
        fetch.unclaimed = fetch.want - cost;
        fetch.asked = now_;
        fetch.asks_at = now_ + 1 + static_cast<Millis>(random_() % (slow ? 30 : 2));
        fetch.answer_at = fetch.asks_at + static_cast<Millis>(random_() % (slow ? 60 : 2));
        machine.fetches.push_back(fetch);
        ++calls;
    }

    /// Redis may have granted what the fetch asks for, and the answer be on its way.
    void take_seat(Fetch& fetch, std::int64_t cost) {
        fetch.unclaimed -= cost;
        if (fetch.granted >= fetch.served + cost) {
            fetch.served += cost;
            meter.admit(real_now(), cost);
        }
    }

    void step(Machine& machine) {
        for (std::size_t i = 0; i < machine.fetches.size();) {
            Fetch& fetch = machine.fetches[i];
            hear(fetch);
            if (fetch.answer_at > now_) {
                ++i;
                continue;
            }
            take(machine, fetch);
            fetch = machine.fetches.back();
            machine.fetches.pop_back();
        }
    }

    void hear(Fetch& fetch) {
        if (fetch.granted >= 0 || fetch.asks_at > now_) {
            return;
        }
        const Nanos at = real_now();
        const std::int64_t burst = bucket_.burst() - (rules_.cut ? lease_.kept : 0);
        fetch.granted = redis_.draw(at, burst, fetch.want, fetch.cost);
        fetch.served = std::min(fetch.granted, fetch.want - fetch.unclaimed);
        if (fetch.served != 0) {
            meter.admit(at, fetch.served);
        }
    }

    void take(Machine& machine, const Fetch& fetch) {
        if (fetch.batch) {
            end_batch(machine.record, terms().now);
        }
        give_back(
            keep_batch(machine.record, terms(),
                       {fetch.granted, end_of(static_cast<Ticks>(fetch.asked), lease_.life), fetch.served}));
    }

    void give_back(const Dying& dying) {
        const Nanos cost = rules_.discount ? worth(dying, terms()) : dying.tokens * bucket_.token();
        if (cost != 0) {
            refunds_.push_back({now_ + static_cast<Millis>(random_() % 15), cost});
            ++calls;
        }
    }

    Bucket bucket_;
    BucketLease lease_;
    LeaseRules rules_;
    ModelBucket redis_;
    std::vector<Machine> machines_;
    std::vector<Refund> refunds_;
    std::mt19937 random_;
    Millis now_ = 1'000'000;
};

}  // namespace rate_limit
