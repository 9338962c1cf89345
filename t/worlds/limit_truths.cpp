#include "t/worlds/limit_truths.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace rate_limit::world {

namespace {

std::string text(std::int64_t value) {
    return std::to_string(value);
}

Micros longest_charge(const std::vector<Setup>& setups) {
    Msec longest = 0;
    for (const Setup& setup : setups) {
        longest = std::max(longest, setup.stores.front().charge_timeout);
    }
    return static_cast<Micros>(longest) * 1000;
}

/// In how many places a window may be counted: where machines disagree about shards, each has its own.
std::int64_t places(const std::vector<Setup>& setups, const std::string& store) {
    std::set<std::string> all;
    for (const Setup& setup : setups) {
        for (const StoreSetup& each : setup.stores) {
            std::string shards;
            for (const ShardSetup& shard : each.shards) {
                shards += shard.name + ' ';
            }
            if (each.name == store) {
                all.insert(shards);
            }
        }
    }
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(all.size()));
}

}  // namespace

LimitTruths::LimitTruths(const Plan& plan, std::size_t number, Servers& servers, ToldLosses& told,
                         Truths& truths)
    : plan_(plan),
      servers_(servers),
      losses_(told),
      truths_(truths),
      name_(plan.setups.front().limits[number].name),
      store_(plan.setups.front().limits[number].store),
      window_("rl:" + name_ + (plan.sites.regional ? "/3600c:client" : "/3600:client")) {
    const std::vector<Setup>& setups = plan.setups;
    const bool clocks_agree = plan.machines.clocks_agree();
    double longest_burst = 0;  // in periods
    for (const Setup& setup : setups) {
        const LimitSetup& limit = setup.limits[number];
        Rate rate;
        if (limit.running) {
            (void)parse_slots(limit.rate, rate);
        } else {
            (void)parse_rate(limit.rate, limit.windows(), rate);
        }
        period_ = rate.period;
        limit_ = std::max(limit_, rate.limit);
        filled_ = std::max(filled_, rate.limit);
        longest_burst =
            std::max(longest_burst, static_cast<double>(limit.burst) / static_cast<double>(rate.limit));
    }
    // A bucket is stored as the time until it is full. What a burst is in that time by one configuration,
    // another one that has a higher rate can have in its own tokens.
    if (setups.front().limits[number].burst != 0) {
        limit_ = static_cast<std::int64_t>(std::ceil(longest_burst * static_cast<double>(filled_)));
    }
    const LimitSetup& limit = setups.front().limits[number];
    places_ = places(setups, limit.store);
    limit_ *= places_;
    filled_ *= places_;
    // Tokens of a shard that the configuration has not any more go back to nobody.
    stores_more_ = places_ > 1;
    one_place_ = places_ == 1;
    running_limit_ = limit.running;
    bucket_ = limit.burst != 0;
    local_ = limit.store == "local";
    gained_ = local_ ? plan.machines.gained(plan.lasts + 60 * second) : plan.servers.gained();
    mode_ = (running_limit_ ? "running" : limit.mode) + (bucket_ ? " bucket in " : " in ") + limit.store;
    // Windows end by the machines' clocks: those that end while the world lasts, as windows by the clock may
    // whatever their period, are worth as much as these agree.
    const bool outlasts = period_ >= 3600 && (!limit.by_clock() || plan.sites.regional);
    exact_ = limit.mode != "check_charge" && !running_limit_ && !bucket_ && (clocks_agree || outlasts);
    only_charges_ = limit.mode == "check_charge";
    const bool alone = plan.traffic.limits.size() == 1 && setups.size() == 1;
    at_once_ = alone ? std::min(limit.delay, limit.burst) : 0;
    const bool windows = !running_limit_ && !bucket_ && !local_;
    gives_back_ = limit.mode == "charge_refund" && windows;
    may_give_back_ = gives_back_ || (limit.mode == "lease" && windows);
    outlasts_ = lasts_ = outlasts && !running_limit_ && !bucket_ && !local_;
    // A region that is cut off does not know what others have stored. Between the servers of a cluster keys
    // move with their slots.
    stored_by_all_ =
        !local_ && one_place_ && !plan.sites.regional && !plan.servers.has(ServerFault::slot_move);
    answer_lasts_ = fresh + longest_charge(setups) + plan.sites.longest_round_trip() +
                    (plan.machines.has(MachineFault::stall) ? longest_fault : 0);
    if (only_charges_ && outlasts && !running_limit_) {
        known_.emplace(fresh + arrives_in + 2 * plan.sites.longest_round_trip());
    }
    if (only_charges_ && lasts_ && one_place_ && confirms_more_and_more()) {
        confirmed_.emplace();
    }
}

/// One worker of two may go on with a former primary, which confirms more to it, for as long as it has not
/// heard of the next one; and so do workers that leave.
bool LimitTruths::confirms_more_and_more() const noexcept {
    const MachinePlan& machines = plan_.machines;
    const ServerPlan& servers = plan_.servers;
    return !machines.has(MachineFault::leave) && !machines.has(MachineFault::kill) &&
           !machines.has(MachineFault::reload) && !machines.has(MachineFault::change) &&
           !machines.has(MachineFault::clock_set) && !servers.has(ServerFault::data_loss) &&
           !servers.has(ServerFault::old_data);
}

void LimitTruths::confirmed(std::size_t key, std::size_t memory, const ConfirmedRecord& record, Micros now) {
    const std::int64_t less = confirmed_ ? confirmed_->note(key, memory, record, now) : 0;
    if (less != 0) {
        fail(key, "its machine has " + text(record.window.used) + " confirmed, and had " + text(less) +
                      " more before");
    }
}

KnownCharges::Known LimitTruths::begin(std::size_t key, std::size_t memory, const Configuration& of,
                                       Micros now) {
    losses_.request_begins();
    if (!known_) {
        return {};
    }
    const std::string client = "client" + text(static_cast<std::int64_t>(key));
    const std::string window = window_of(key);
    KnownCharges::Place place{memory, 0};
    for (const StoreConf* store : of.stores) {
        const bool has_shards = store->name == store_ && !store->routes.has_slots();
        place.shard =
            has_shards ? store->routes.digest_of(store->routes.choose(client, window)) : place.shard;
    }
    const bool stored = stored_by_all_ && servers_.known_to_all(window) >= limit_;
    return known_->begin(key, place, stored, now);
}

std::int64_t LimitTruths::excused(std::size_t key) {
    return local_ ? 0
                  : lost_of_key_[key] + lost_of(key).taken +
                        losses_.uncertain(name_, one_place_, key, ToldLosses::all_regions).less;
}

/// While less than the limit is known to be used one more is let in, whatever it will cost.
void LimitTruths::enter(std::size_t key, const KnownCharges::Known& known, Micros begun, Micros decided) {
    if (!known_) {
        return;
    }
    const std::int64_t own = known_->still_here(known, key);
    const std::int64_t limit = limit_ / places_;
    known_->enter(key, known.place);
    if (own >= limit && own - excused(key) >= limit) {
        fail(key, "admits one more of " + text(limit) + ", and its machine has charged or has in flight " +
                      text(own));
    } else if (known.stored_since != KnownCharges::never && known.stored_since + answer_lasts_ < begun &&
               lost_of(key).taken == 0) {
        fail(key, "admits one more of " + text(limit_) + ", which all servers have stored since " +
                      text(known.stored_since));
    } else if (lasts_ && one_place_ && known.of_all >= limit_ && plan_.is_calm(begun) &&
               plan_.is_calm(decided) && known.of_all - excused(key) >= limit_) {
        fail(key, "admits one more of " + text(limit_) + ", and all machines had charged " +
                      text(known.of_all) + " long before");
    }
}

void LimitTruths::leave(std::size_t key, const KnownCharges::Known& known, std::int64_t cost) {
    if (known_) {
        known_->leave(key, known.place, cost);
    }
}

void LimitTruths::charge(const Account& account, std::int64_t cost, Micros now) {
    charged_[account] += cost;
    if (known_) {
        known_->charge(account.key, cost, now);
    }
}

std::size_t LimitTruths::admit(const Claim& claim, std::int64_t cost, Millis reset, Micros begun,
                               Micros decided) {
    if (running_limit_) {
        if (++running_[claim] > limit_ && running_[claim] > limit_ + lost_of(claim.key).taken) {
            fail(claim.key, text(running_[claim]) + " requests run of " + text(limit_) + " at a time");
        }
        return 0;
    }
    if (exact_) {
        std::int64_t& used = windows_[{claim, reset}];
        used += cost;
        // A machine that has not heard of a loss takes the next window for the one of before.
        if (used > limit_ && used > limit_ + lost_of(claim.key).taken) {
            fail(claim.key,
                 text(used) + " admitted of " + text(limit_) + " in the window that ends at " + text(reset));
        }
    }
    if (!bucket_) {
        return 0;
    }
    std::vector<Taken>& taken = taken_[claim];
    taken.push_back({cost, begun, decided});
    check_bucket(claim);
    return taken.size() - 1;
}

void LimitTruths::give_back(const Claim& claim, std::size_t number, std::int64_t cost, Millis reset) {
    if (exact_) {
        windows_[{claim, reset}] -= cost;
    } else if (bucket_) {
        taken_[claim][number].cost -= cost;
        given_back_[claim] += cost;
    }
}

/// The last request, and each span of requests that it ends: burst and rate allow so much from the earliest
/// begin of one to the decision of the last. Those that a stalled worker has decided late had begun, and
/// perhaps taken, before others. A microsecond of clocks is forgiven, and in `local` a millisecond, in which
/// it counts time.
void LimitTruths::check_bucket(const Claim& claim) {
    const std::vector<Taken>& taken = taken_[claim];
    const Micros clock = local_ ? 1'000 : 1;
    std::int64_t sum = 0;
    Micros earliest = taken.back().begun;
    for (std::size_t i = taken.size(); i-- > 0;) {
        sum += taken[i].cost;
        earliest = std::min(earliest, taken[i].begun);
        const Micros span = taken.back().decided - earliest + clock + gained_;
        const Micros filled = span * filled_ / (period_ * 1'000'000);
        if (sum > limit_ + filled && sum > limit_ + filled + tokens_lost(claim.key)) {
            fail(claim.key, text(sum) + " admitted in " + text(span) + " us by a bucket of " + text(filled_) +
                                " in " + text(period_) + " s and " + text(limit_));
            return;
        }
    }
}

/// Checks the times at which requests go on, back to the last one that began near a fault, and in `local`,
/// where faults of servers change nothing, all of them: no more than `at_once_`, or the greatest cost, and
/// the rate, and what has gone back. Where nothing has, they go on on one machine in the order in which they
/// came. Clocks are of milliseconds.
void LimitTruths::check_queue(const Claim& claim, Micros waits) {
    constexpr Micros clock = 1'000;
    if (at_once_ == 0) {
        return;
    }
    std::vector<Taken>& taken = taken_[claim];
    taken.back().waits = waits;
    const std::int64_t back = given_back_[claim];
    std::int64_t sum = 0;
    std::int64_t most = at_once_;
    Micros earliest = taken.back().begun + waits;
    Micros latest = taken.back().decided + waits;
    for (std::size_t i = taken.size(); i-- > 0 && (local_ || plan_.is_calm(taken[i].begun));) {
        const Taken& each = taken[i];
        const bool later = each.decided + each.waits > taken.back().decided + waits + 2 * clock + gained_;
        if (local_ && back == 0 && later) {
            fail(claim.key, "a request goes on before one that came before it");
            return;
        }
        sum += each.cost;
        most = std::max(most, each.cost);
        earliest = std::min(earliest, each.begun + each.waits);
        latest = std::max(latest, each.decided + each.waits);
        const Micros span = latest - earliest + 2 * clock + gained_;
        const std::int64_t filled = span * filled_ / (period_ * 1'000'000) + 1;
        if (sum > most + filled + back) {
            fail(claim.key, text(sum) + " go on in " + text(span) + " us by a queue of " + text(filled_) +
                                " in " + text(period_) + " s, of which " + text(at_once_) + " pass at once");
            return;
        }
    }
}

LostWrites::Sums LimitTruths::lost_of(std::size_t key) const {
    return servers_.lost().of("rl:" + name_ + '/', ":client" + std::to_string(key));
}

/// Writes that were lost had taken so many tokens from the bucket; a part of one counts as one.
std::int64_t LimitTruths::tokens_lost(std::size_t key) const {
    const auto nanos = static_cast<double>(lost_of(key).taken);
    return static_cast<std::int64_t>(
        std::ceil(nanos * static_cast<double>(filled_) / (static_cast<double>(period_) * 1e9)));
}

/// A charge that is in doubt is one that was made: `check_charge`, which gives nothing back, never stores
/// more.
std::int64_t LimitTruths::most_stored(std::size_t key, Millis reset, const Uncertain& uncertain) const {
    if (only_charges_) {
        return 0;
    }
    const bool reopened = lost_of(key).taken != 0;
    const std::int64_t reservations =
        gives_back_ ? std::min(uncertain.reservations, told_.unanswered(key)) : uncertain.reservations;
    return uncertain.more + lost_refunds_ + reservations + (reopened ? told_.unaware(key, reset) : 0);
}

std::string LimitTruths::in_region(const Account& account) const {
    return plan_.sites.regional ? "in region " + text(static_cast<std::int64_t>(account.region)) + ' ' : "";
}

std::int64_t LimitTruths::compare(const Account& account, const Window& stored, const Uncertain& uncertain) {
    const std::size_t key = account.key;
    const std::int64_t charged = charged_[account];
    const std::int64_t gone = lost_[account];
    const LostWrites::Sums lost = lost_of(key);
    const std::int64_t more = most_stored(key, stored.reset, uncertain);
    const std::int64_t most = charged + gone + lost.given_back + more;
    const std::int64_t least = charged - gone - lost.taken - uncertain.less;
    const bool any = stores_more_ && !only_charges_;
    if ((stored.used > most && !any) || stored.used < least) {
        fail(key, in_region(account) + text(charged) + " charged, " + text(stored.used) + " stored, " +
                      text(more) + " more and " + text(uncertain.less) + " less uncertain, " +
                      text(lost.taken) + " lost, and given back " + text(lost.given_back));
    }
    return std::max<std::int64_t>(0, charged - gone - lost.taken - stored.used);
}

void LimitTruths::fail(std::size_t key, const std::string& what) {
    truths_.fail(name_ + " (" + mode_ + "), key " + std::to_string(key) + ": " + what);
}

}  // namespace rate_limit::world
