#include "t/worlds/told_losses.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <vector>

#include "limiter/counters.h"
#include "redis/keys/routes.h"
#include "redis/script.h"
#include "redis/script_reply.h"
#include "t/world/server_request.h"

namespace rate_limit::world {

namespace {

/// Charges that are lost can only leave less stored than was charged.
bool is_of_charges(Loss loss) {
    return loss == Loss::charges_in_doubt || loss == Loss::expired || loss == Loss::no_room ||
           loss == Loss::no_memory;
}

/// Those of all configurations.
std::set<std::string> names_of_shards(const std::vector<Setup>& setups) {
    std::set<std::string> names;
    for (const Setup& setup : setups) {
        for (const ShardSetup& shard : setup.stores.front().shards) {
            names.insert(shard.name);
        }
        if (!setup.stores.front().seeds.empty()) {
            names.insert("cluster");
        }
    }
    return names;
}

void add(Uncertain& sum, const Uncertain& more) {
    sum.less += more.less;
    sum.more += more.more;
    sum.reservations += more.reservations;
}

std::int64_t number_of(std::string_view word) {
    std::int64_t value = 0;
    (void)std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

bool calls(Words words, ScriptName name) {
    return words[1] == script(name).digest() || words[1] == script(name).text;
}

}  // namespace

std::int64_t largest_refund(const Plan& plan) {
    std::int64_t largest = 2 * plan.traffic.most_cost;
    for (const Setup& setup : plan.setups) {
        for (const LimitSetup& limit : setup.limits) {
            const bool fixed = limit.lease != lease_auto;
            const std::int64_t tokens =
                fixed ? static_cast<std::int64_t>(limit.lease) : std::stoll(limit.rate) / 10 + 2;
            largest = std::max(largest, tokens);
        }
    }
    return largest;
}

ToldLosses::ToldLosses(const Plan& plan, Machines& machines) : plan_(plan), machines_(machines) {
    for (const Setup& setup : plan.setups) {
        for (const LimitSetup& limit : setup.limits) {
            Rate rate;
            if (limit.running || parse_rate(limit.rate, limit.windows(), rate) != RateError::none) {
                continue;
            }
            may_expire_ = may_expire_ || limit.burst != 0 || limit.by_clock() || rate.period < 3600;
        }
    }
}

/// How many charges, refunds and tokens nobody can be sure of.
Uncertain ToldLosses::uncertain_of(const std::string& shard, std::size_t region) {
    Uncertain sums;
    for (std::size_t i = 0; i < loss_count; ++i) {
        const auto loss = static_cast<Loss>(i);
        if (loss == Loss::answered_by_former || loss == Loss::not_raised) {
            continue;  // each is counted as in doubt, too; or by LostWrites
        }
        const std::int64_t most = told(loss, shard, region) *
                                  (is_of_charges(loss) ? 2 * plan_.traffic.most_cost : largest_refund(plan_));
        // What was to be given back and was not leaves more.
        sums.less += loss == Loss::refunds_in_doubt || loss == Loss::refunds_no_room ? 0 : most;
        (loss == Loss::reservations_in_doubt ? sums.reservations : sums.more) +=
            is_of_charges(loss) ? 0 : most;
    }
    return sums;
}

Uncertain ToldLosses::uncertain_of_all(std::size_t region) {
    Uncertain sums;
    for (const std::string& shard : names_of_shards(plan_.setups)) {
        add(sums, uncertain_of(shard, region));
    }
    return sums;
}

/// Machines may have disagreed about shards: what was lost then may have been on its way to any of them.
Uncertain ToldLosses::uncertain(const std::string& limit, bool in_one_place, std::size_t key,
                                std::size_t region) {
    const StoreSetup& store = plan_.servers.stores.front();
    if (!in_one_place || !store.seeds.empty()) {
        return uncertain_of_all(region);
    }
    Routes routes(store.name);
    for (const ShardSetup& shard : store.shards) {
        routes.add_shard(shard.name, 1);
    }
    const std::string client = "client" + std::to_string(key);
    return uncertain_of(store.shards[routes.choose(client, "rl:" + limit + "/3600:" + client)].name, region);
}

/// How many charges, refunds and reservations the command has at most: each costs 1 or more, and a command
/// may have several of one window. Those of slots and of overrides are told elsewhere.
std::int64_t ToldLosses::most_writes(std::string_view command) const {
    std::vector<std::string_view> parts;
    std::size_t length = 0;
    if (read_request(command, parts, length) != Request::whole || parts.size() < 4) {
        return 0;
    }
    const Words words(parts);
    if (words[0] == "HINCRBY") {
        return number_of(words[3]);
    }
    if (words[0] == "BITFIELD") {
        return 1;
    }
    if ((words[0] != "EVALSHA" && words[0] != "EVAL") || words.size() < 6) {
        return 0;
    }
    if (calls(words, ScriptName::charge) || calls(words, ScriptName::refund)) {
        return number_of(words[4]);
    }
    if (calls(words, ScriptName::reserve)) {
        constexpr std::size_t back = 11;
        return 1 + (words.size() > back ? number_of(words[back]) : 0);
    }
    if (!calls(words, ScriptName::bucket) || words.size() < 7) {
        return 0;
    }
    // A debt to a bucket is written in nanoseconds, and is its fill at most, however many owe it: each
    // request so far may have charged it, and given something back. What a request asks for is in tokens.
    return number_of(words[4]) == 1 ? 2 * requests_ : 1;
}

void ToldLosses::note(std::string_view command, const Reply* reply) {
    if (reply == nullptr || reply->is_error()) {
        const bool refused = reply != nullptr && !stored_without_expiry(*reply);
        (refused ? refused_ : unanswered_) += most_writes(command);
    }
}

std::int64_t ToldLosses::told(Loss loss, const std::string& shard, std::size_t region) {
    std::int64_t sum = 0;
    machines_.for_each([&](Machine& machine) {
        if (region != all_regions && plan_.sites.region_of(machine.number()) != region) {
            return;
        }
        const Counters<Loss> losses(machine.zone().counters(),
                                    {plan_.servers.stores.front().name, shard, {}});
        sum += static_cast<std::int64_t>(losses.own_count(loss));
    });
    return sum;
}

std::int64_t ToldLosses::told(Loss loss) {
    std::int64_t sum = 0;
    for (const std::string& shard : names_of_shards(plan_.setups)) {
        sum += told(loss, shard);
    }
    return sum;
}

void ToldLosses::check(Truths& truths) {
    const auto compare = [&truths](std::int64_t told, std::int64_t most, const char* what) {
        if (told > most) {
            truths.fail("machines have told that " + std::to_string(told) + ' ' + what + ", and " +
                        std::to_string(most) + " were at most");
        }
    };
    const std::int64_t former = told(Loss::answered_by_former);
    const std::int64_t in_doubt =
        told(Loss::charges_in_doubt) + told(Loss::refunds_in_doubt) + told(Loss::reservations_in_doubt);
    compare(in_doubt - former, unanswered_, "writes were sent and not answered");
    compare(told(Loss::refused), refused_, "writes were refused");
    compare(told(Loss::no_memory), 0, "charges found no memory");
    if (!may_expire_) {
        compare(told(Loss::expired), 0, "charges expired");
    }
    if (!plan_.servers.replaces_primaries()) {
        compare(former, 0, "writes were answered by a former primary");
    }
}

}  // namespace rate_limit::world
