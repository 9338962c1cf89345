#include "t/worlds/truths.h"

#include <cmath>

namespace rate_limit::world {

namespace {

std::string number(std::int64_t value) {
    return std::to_string(value);
}

/// How the keys of a client end in Redis.
std::string client_of(std::size_t key) {
    return ":client" + std::to_string(key);
}

}  // namespace

Truths::Truths(const LimitSetup& limit, const LostWrites& lost) : limit_(limit), lost_(lost) {
    if (limit.running) {
        (void)parse_slots(limit.rate, rate_);
    } else {
        (void)parse_rate(limit.rate, false, rate_);
    }
    exact_ = limit.mode != "check_charge" && !limit.running && limit.burst == 0;
    lasts_ = rate_.period >= 3600 && !limit.running && limit.burst == 0;
}

std::size_t Truths::admit(std::size_t key, std::int64_t cost, Millis reset, Micros begun, Micros decided) {
    if (limit_.running && ++running_[key] > rate_.limit &&
        running_[key] > rate_.limit + lost_.of(client_of(key)).taken) {
        fail("key " + number(static_cast<std::int64_t>(key)) + ": " + number(running_[key]) +
             " requests run of " + number(rate_.limit) + " at a time");
    }
    if (exact_) {
        std::int64_t& used = windows_[{key, reset}];
        used += cost;
        if (used > rate_.limit && used > rate_.limit + lost_.of(client_of(key), reset).taken) {
            fail("key " + number(static_cast<std::int64_t>(key)) + ": " + number(used) + " admitted of " +
                 number(rate_.limit) + " in the window that ends at " + number(reset));
        }
    }
    std::vector<Taken>& taken = taken_[key];
    taken.push_back({cost, begun, decided});
    if (limit_.burst != 0) {
        check_bucket(key);
    }
    return taken.size() - 1;
}

void Truths::give_back(std::size_t key, std::size_t number, std::int64_t cost, Millis reset) {
    if (exact_) {
        windows_[{key, reset}] -= cost;
    }
    taken_[key][number].cost = 0;
}

/// The last request, and each span of requests that it ends: burst and rate allow so much from the begin of
/// the first to the decision of the last. A microsecond of clocks is forgiven.
void Truths::check_bucket(std::size_t key) {
    const std::vector<Taken>& taken = taken_[key];
    std::int64_t sum = 0;
    for (std::size_t i = taken.size(); i-- > 0;) {
        sum += taken[i].cost;
        const Micros span = taken.back().decided - taken[i].begun + 1;
        const Micros filled = span * rate_.limit / (rate_.period * 1'000'000) + 1;
        if (sum > limit_.burst + filled && sum > limit_.burst + filled + tokens_lost(key)) {
            fail("key " + number(static_cast<std::int64_t>(key)) + ": " + number(sum) + " admitted in " +
                 number(span) + " us by a bucket of " + limit_.rate + " and " + number(limit_.burst));
            return;
        }
    }
}

/// Writes that were lost had taken so many tokens from the bucket; a part of one counts as one.
std::int64_t Truths::tokens_lost(std::size_t key) const {
    const auto nanos = static_cast<double>(lost_.of(client_of(key)).taken);
    return static_cast<std::int64_t>(
        std::ceil(nanos * static_cast<double>(rate_.limit) / (static_cast<double>(rate_.period) * 1e9)));
}

void Truths::compare(std::size_t key, std::int64_t stored, std::int64_t uncertain) {
    const std::int64_t charged = charged_[key];
    const LostWrites::Sums lost = lost_.of(client_of(key));
    if (stored < charged - uncertain - lost.taken || stored > charged + uncertain + lost.given_back) {
        fail("key " + number(static_cast<std::int64_t>(key)) + ": " + number(charged) + " charged, " +
             number(stored) + " stored, " + number(uncertain) + " uncertain, " + number(lost.taken) +
             " lost, and given back " + number(lost.given_back));
    }
}

}  // namespace rate_limit::world
