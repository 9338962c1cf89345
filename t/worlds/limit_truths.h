#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "t/world/events.h"
#include "t/world/written.h"
#include "t/worlds/confirmed_counts.h"
#include "t/worlds/known_charges.h"
#include "t/worlds/plan.h"
#include "t/worlds/servers.h"
#include "t/worlds/told_losses.h"
#include "t/worlds/told_windows.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// One client under one limit: of a limit in a machine's own memory each machine has another.
struct Claim {
    std::size_t key;
    std::size_t memory;  ///< 0: all machines count together

    bool operator<(const Claim& other) const noexcept {
        return std::tie(key, memory) < std::tie(other.key, other.memory);
    }
};

/// One client in one region.
struct Account {
    std::size_t key;
    std::size_t region;  ///< 0 where the store has none

    bool operator<(const Account& other) const noexcept {
        return std::tie(key, region) < std::tie(other.key, other.region);
    }
};

/// The truths of one limit, whatever befalls a world: asked as requests are decided, and at the end.
class LimitTruths {
public:
    /// `number`: of the limit in each setup of the plan. What `servers` have lost counts as never written.
    /// All outlive this.
    LimitTruths(const Plan& plan, std::size_t number, Servers& servers, ToldLosses& told, Truths& truths);

    /// A request begins at a worker of this configuration, on the machine of this memory.
    KnownCharges::Known begin(std::size_t key, std::size_t memory, const Configuration& of, Micros now);

    /// The limit has let that request in: `known` is what begin() has returned.
    void enter(std::size_t key, const KnownCharges::Known& known, Micros begun, Micros decided);

    /// A request that has entered was charged so much, or 0.
    void leave(std::size_t key, const KnownCharges::Known& known, std::int64_t cost);

    /// The limit has let a request in that all have let in: by what a store said, or a lease. `reset`: of its
    /// window. `begun` and `decided` say when. Returns its number among those of its claim.
    std::size_t admit(const Claim& claim, std::int64_t cost, Millis reset, Micros begun, Micros decided);

    /// The request of the last admit() waits so long for its turn.
    void check_queue(const Claim& claim, Micros waits);

    /// A request has ended before it was decided, and gives back what it may have taken.
    void give_back_unseen(const Claim& claim, std::int64_t cost) { given_back_[claim] += cost; }

    /// The request of this number has ended, and gives back so much of what has let it in.
    void give_back(const Claim& claim, std::size_t number, std::int64_t cost, Millis reset);

    /// A request has been told a window, or has ended without.
    void tell(std::size_t key, const ToldWindows::Told& told) {
        if (may_give_back_) {
            told_.add(key, told);
        }
    }

    /// The machine that has a request of the key knows this as confirmed by the primary.
    void confirmed(std::size_t key, std::size_t memory, const ConfirmedRecord& record, Micros now);

    /// A request that was let in does not run any more.
    void leave(const Claim& claim) { --running_[claim]; }

    /// Whoever let it in, a request was charged so much.
    void charge(const Account& account, std::int64_t cost, Micros now);

    /// A worker that was killed has taken with it what it knew: perhaps charges of this account, and perhaps
    /// what it was to give back to each window, of requests and of tokens, so much at most.
    void lose(const Account& account, std::int64_t cost) {
        lost_[account] += cost;
        lost_of_key_[account.key] += cost;
    }
    void lose_refunds(std::int64_t most) noexcept { lost_refunds_ += most; }

    /// A machine of the region has lost its memory: what is stored there cannot be compared with anything.
    void lose_memory(std::size_t region) {
        lasts_ = false;
        forgetful_.insert(region);
    }

    /// At the end: the window that the primary has stored for the account. Returns how much less it is than
    /// what was charged and not lost.
    std::int64_t compare(const Account& account, const Window& stored, const Uncertain& uncertain);

    /// The writes of its keys of this client that were lost.
    LostWrites::Sums lost_of(std::size_t key) const;

    /// The writes for this client that were lost, and of which machines know no more.
    std::int64_t excused(std::size_t key);

    /// The name that stores have for its window of this client, where windows outlast the world.
    std::string window_of(std::size_t key) const { return window_ + std::to_string(key); }

    /// Whether windows outlast the world, and no machine has lost its memory.
    bool lasts() const noexcept { return lasts_; }

    /// Whether compare() makes sense there: windows outlast the world, and machines there have forgotten
    /// nothing.
    bool is_comparable(std::size_t region) const { return outlasts_ && forgetful_.count(region) == 0; }
    bool is_local() const noexcept { return local_; }
    bool counts_running() const noexcept { return running_limit_; }
    bool by_bucket() const noexcept { return bucket_; }
    bool only_charges() const noexcept { return only_charges_; }  ///< gives nothing back

    /// Whether all configurations agree about where its windows are.
    bool is_in_one_place() const noexcept { return one_place_; }
    const std::string& name() const noexcept { return name_; }

private:
    struct Taken {
        std::int64_t cost;  // 0: given back
        Micros begun;
        Micros decided;
        Micros waits = 0;  // for its turn
    };

    void check_bucket(const Claim& claim);
    std::int64_t most_stored(std::size_t key, Millis reset, const Uncertain& uncertain) const;
    std::int64_t tokens_lost(std::size_t key) const;
    bool confirms_more_and_more() const noexcept;
    std::string in_region(const Account& account) const;
    void fail(std::size_t key, const std::string& what);

    const Plan& plan_;
    Servers& servers_;
    ToldLosses& losses_;
    Truths& truths_;
    const std::string name_;
    const std::string store_;
    const std::string window_;  // without the number of the client
    std::string mode_;
    std::int64_t limit_ = 0;   // the highest of all configurations, or their burst, in all places together
    std::int64_t places_ = 1;  // where a window may be counted
    std::int64_t filled_ = 0;  // tokens in `period_` seconds
    std::int64_t period_ = 1;
    Micros gained_ = 0;  // by clocks that fill buckets: the machine's its own, the servers' others
    bool running_limit_ = false;
    bool bucket_ = false;
    bool local_ = false;
    bool exact_ = false;  // the mode never admits more than the limit
    bool only_charges_ = false;
    bool one_place_ = true;
    bool gives_back_ = false;     // each request by itself
    bool may_give_back_ = false;  // one, by itself: so it is in `lease` where a key is seldom asked for
    bool outlasts_ = false;
    bool lasts_ = false;  // and no machine has forgotten anything
    bool stores_more_ = false;
    std::int64_t lost_refunds_ = 0;  // to each window
    std::int64_t at_once_ = 0;       // tokens that pass at once, where no other limit rejects; else 0
    std::map<Claim, std::int64_t> given_back_;  // to buckets
    std::map<std::pair<Claim, Millis>, std::int64_t> windows_;
    std::map<Claim, std::vector<Taken>> taken_;
    std::map<Claim, std::int64_t> running_;
    std::set<std::size_t> forgetful_;  // regions
    std::map<Account, std::int64_t> charged_;
    std::map<Account, std::int64_t> lost_;
    std::map<std::size_t, std::int64_t> lost_of_key_;
    ToldWindows told_;
    bool stored_by_all_ = false;                // servers can be asked what all of them have stored
    Micros answer_lasts_ = 0;                   // so long an answer may stand for another
    std::optional<KnownCharges> known_;         // of check_charge, where windows outlast the world
    std::optional<ConfirmedCounts> confirmed_;  // likewise, where a machine forgets nothing
};

}  // namespace rate_limit::world
