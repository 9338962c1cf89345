#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "bucket_model.h"
#include "core/bucket/bucket_tokens.h"

namespace rate_limit {

/// Rules that a machine of the model may break, for a test to see it fail.
struct LeaseRules {
    bool cut = true;       ///< Redis is asked with a smaller burst
    bool die = true;       ///< tokens die
    bool discount = true;  ///< less goes back, the older tokens are
    bool oldest = true;    ///< tokens that a request puts back are as old as the oldest of them
    bool marked = true;    ///< limits of other terms leave tokens alone
    std::int64_t fixed = 0;
    Millis answer = 4;  ///< how long machines take an answer to take; 0: they fetch nothing ahead
};

/// A request that comes to a worker of a machine.
struct ModelRequest {
    std::size_t machine = 0;
    std::size_t worker = 0;
    std::int64_t cost = 1;
    std::size_t limit = 0;
    bool exempt = false;  ///< it puts its tokens back when it ends, as for a 304
};

/// Machines whose workers lease tokens of one bucket, for limits of one or several terms, in steps of a
/// millisecond.
class BucketLeaseModel {
public:
    BucketLeaseModel(unsigned seed, std::vector<Bucket> limits, int machines, int workers,
                     const LeaseRules& rules)
        : meter(largest_of(limits)), limits_(std::move(limits)), rules_(rules), random_(seed) {
        Machine machine;
        machine.workers.resize(static_cast<std::size_t>(workers));
        machines_.resize(static_cast<std::size_t>(machines), machine);
    }

    /// A limit that takes nothing in advance has no exempt requests.
    void request(ModelRequest of) {
        of.exempt = of.exempt && leases(of.limit);
        Machine& machine = machines_.at(of.machine);
        Fetches& fetches = machine.workers.at(of.worker);
        ++requests;
        const Ticks end = first_end(machine.record, static_cast<Ticks>(now_));
        if (spend_here(machine, of)) {
            pass(real_now(), of, of.exempt ? 0 : of.cost);
            hold(of, of.exempt ? of.cost : 0, end);
            if (rules_.fixed == 0 && rules_.answer != 0 && may_fetch_ahead(machine.record, terms(of.limit))) {
                fetch(machine, fetches, of, true);
            }
        } else if (!fetches.empty() && fetches.back().of.limit == of.limit &&
                   fetches.back().unclaimed >= of.cost) {
            take_seat(fetches.back(), of);
        } else if (fetches.size() < most_fetches) {
            fetch(machine, fetches, of);
        }
    }

    /// All that a machine has goes back, as when it ends, or what is dead of it.
    void look(std::size_t at, bool all) {
        for (std::size_t limit = 0; limit < limits_.size(); ++limit) {
            give_back(take_dying(machines_.at(at).record, terms(limit), all), limit);
        }
    }

    /// Time goes on; what comes in is taken in.
    void step() {
        ++now_;
        take_due(refunds_, [this](const Refund& refund) { redis_.refund(real_now(), refund.cost); });
        take_due(held_, [this](const Held& held) { put_back_held(held); });
        for (Machine& machine : machines_) {
            for (Fetches& fetches : machine.workers) {
                for (Fetch& fetch : fetches) {
                    hear(fetch);
                }
                take_due(fetches, [&](const Fetch& fetch) { take(machine, fetch); });
            }
        }
    }

    Millis life() const { return lease_of(limits_.front()).life; }
    std::size_t size() const { return machines_.size(); }
    std::size_t workers() const { return machines_.front().workers.size(); }
    std::size_t limits() const { return limits_.size(); }
    std::mt19937& random() { return random_; }
    std::size_t one_of(std::size_t count) { return count == 1 ? 0 : random_() % count; }

    bool first_is_late = false;  ///< answers to the first worker of each machine come 4 lives later
    ModelMeter meter;
    std::int64_t requests = 0;
    std::int64_t calls = 0;
    std::int64_t late = 0;  ///< batches that came when younger tokens were at hand
    std::int64_t put_back_here = 0;

private:
    /// The most fetches of one worker at a time: a batch, and others beside it.
    static constexpr std::size_t most_fetches = 3;

    struct Fetch {
        ModelRequest of;  // that asked
        Millis asked = 0;
        Millis asks_at = 0;  // when Redis hears it
        Millis at = 0;       // when the answer comes
        std::int64_t want = 0;
        std::int64_t unclaimed = 0;  // tokens wanted that no request with a seat has claimed
        std::int64_t exempt = 0;     // tokens claimed by requests that put them back
        bool batch = false;
        std::int64_t granted = -1;
        std::int64_t served = 0;  // granted tokens that went to requests that are not exempt
    };

    using Fetches = std::vector<Fetch>;

    struct Machine {
        BucketRecord record;
        std::vector<Fetches> workers;  // fetches under way, by worker
    };

    struct Refund {
        Millis at = 0;
        Nanos cost = 0;
    };

    /// By requests that are exempt.
    struct Held {
        Millis at = 0;
        ModelRequest of;
        Dying tokens;
    };

    static Nanos largest_of(const std::vector<Bucket>& limits) {
        Nanos fill = 0;
        for (const Bucket& limit : limits) {
            fill = std::max(fill, limit.fill());
        }
        return fill;
    }

    /// Hands out, in any order, and takes out those whose time has come.
    template <class Item, class Take>
    void take_due(std::vector<Item>& items, const Take& take) {
        for (std::size_t i = 0; i < items.size();) {
            if (items[i].at > now_) {
                ++i;
                continue;
            }
            const Item item = items[i];
            items[i] = items.back();
            items.pop_back();
            take(item);
        }
    }

    /// Up to a millisecond later than the machines' clocks say.
    Nanos real_now() { return nanos_of(now_) + static_cast<Nanos>(random_() % 1'000'000); }

    Millis up_to(Millis time) { return static_cast<Millis>(one_of(static_cast<std::size_t>(time))); }

    TokenTerms terms(std::size_t limit) const {
        const Bucket& bucket = limits_[limit];
        const std::uint32_t mark = rules_.marked ? mark_of(bucket.token(), bucket.fill()) : 0;
        return {bucket.token(), lease_of(bucket).life, static_cast<Ticks>(now_), mark, rules_.answer};
    }

    void pass(Nanos now, const ModelRequest& of, std::int64_t cost) {
        if (cost != 0) {
            meter.admit(now, cost * limits_[of.limit].token());
        }
    }

    void hold(const ModelRequest& of, std::int64_t tokens, Ticks end) {
        if (tokens != 0) {
            held_.push_back({now_ + 1 + up_to(one_of(10) == 0 ? life() : 10), of, {tokens, end}});
        }
    }

    bool leases(std::size_t limit) const { return lease_of(limits_[limit]).life != 0; }

    bool spend_here(Machine& machine, const ModelRequest& of) {
        BucketRecord& record = machine.record;
        if (!leases(of.limit)) {
            return false;
        }
        if (rules_.die) {
            return spend(record, terms(of.limit), of.cost);
        }
        const bool enough = at_hand(record) >= of.cost;
        record.leased = static_cast<std::uint64_t>(at_hand(record) - (enough ? of.cost : 0));
        return enough;
    }

    void fetch(Machine& machine, Fetches& fetches, const ModelRequest& of, bool ahead = false) {
        const bool slow = one_of(50) == 0;
        Fetch fetch;
        std::int64_t size = 0;
        if (leases(of.limit) && !are_others(machine.record, terms(of.limit))) {
            size = begin_batch(machine.record, terms(of.limit), ahead);
            fetch.batch = size != 0;
            size = fetch.batch ? size : size_beside(machine.record, terms(of.limit));
        }
        if (rules_.fixed != 0 && leases(of.limit)) {
            size = fetch.batch ? rules_.fixed : std::min(size, rules_.fixed);
        }
        fetch.of = of;
        fetch.want = std::max(size, of.cost);
        fetch.unclaimed = fetch.want;
        if (!ahead) {
            claim(fetch, of);
        }
        fetch.asked = now_;
        fetch.asks_at = now_ + 1 + up_to(slow ? 30 : 2);
        fetch.at =
            fetch.asks_at + up_to(slow ? 2 * life() : 2) + (first_is_late && of.worker == 0 ? 4 * life() : 0);
        fetches.push_back(fetch);
        ++calls;
    }

    static void claim(Fetch& fetch, const ModelRequest& of) {
        fetch.unclaimed -= of.cost;
        fetch.exempt += of.exempt ? of.cost : 0;
    }

    /// Redis may have granted what the fetch asks for, and the answer be on its way.
    void take_seat(Fetch& fetch, const ModelRequest& of) {
        claim(fetch, of);
        if (!of.exempt && fetch.granted >= fetch.served + of.cost) {
            fetch.served += of.cost;
            pass(real_now(), of, of.cost);
        }
    }

    void hear(Fetch& fetch) {
        if (fetch.granted >= 0 || fetch.asks_at > now_) {
            return;
        }
        const Nanos at = real_now();
        const Bucket& bucket = limits_[fetch.of.limit];
        const Nanos kept = rules_.cut ? lease_of(bucket).kept * bucket.token() : 0;
        fetch.granted = redis_.draw(at, bucket.fill() - kept, bucket.token(), fetch.want, fetch.of.cost);
        fetch.served = std::min(fetch.granted, fetch.want - fetch.unclaimed - fetch.exempt);
        pass(at, fetch.of, fetch.served);
    }

    void take(Machine& machine, const Fetch& fetch) {
        BucketRecord& record = machine.record;
        const TokenTerms terms = this->terms(fetch.of.limit);
        if (!leases(fetch.of.limit)) {
            return;  // it has asked for no more than it passed with
        }
        const Ticks end = end_of(static_cast<Ticks>(fetch.asked), terms.life);
        if (fetch.batch) {
            end_batch(record, static_cast<Ticks>(fetch.asked), terms);
        }
        const bool late = alive(record, terms) != 0 && earlier(last_end(record), end) != last_end(record);
        this->late += late ? 1 : 0;
        const Ticks seats_end =
            rules_.oldest || alive(record, terms) == 0 ? oldest_end(record, terms, end) : last_end(record);
        const std::int64_t pool = alive(record, terms) + fetch.granted;
        const std::int64_t exempt = std::min(fetch.exempt, pool - fetch.served);
        hold(fetch.of, exempt, seats_end);
        (void)take_forgotten(record, terms);
        const Dying dying = keep_batch(record, terms, {fetch.granted, end, fetch.served + exempt});
        give_back(dying, fetch.of.limit);
    }

    void put_back_held(const Held& held) {
        Machine& machine = machines_[held.of.machine];
        if (put_back(machine.record, terms(held.of.limit), held.tokens)) {
            ++put_back_here;
        } else {
            give_back(held.tokens, held.of.limit);
        }
    }

    void give_back(const Dying& dying, std::size_t limit) {
        const Nanos cost =
            rules_.discount ? worth(dying, terms(limit)) : dying.tokens * limits_[limit].token();
        if (cost != 0) {
            refunds_.push_back({now_ + up_to(15), cost});
            ++calls;
        }
    }

    std::vector<Bucket> limits_;
    LeaseRules rules_;
    ModelBucket redis_;
    std::vector<Machine> machines_;
    std::vector<Refund> refunds_;
    std::vector<Held> held_;
    std::mt19937 random_;
    Millis now_ = 1'000'000;
};

}  // namespace rate_limit
