#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "t/world/client_request.h"
#include "t/worlds/limit_truths.h"
#include "t/worlds/region_troubles.h"

namespace rate_limit::world {

/// The truths that must hold where a store has regions, beside all that holds everywhere, of each client in
/// each window:
///
/// - A request passes only while less than the limit is used, as far as its machine knows: of the regions
///   that can be read all that was charged long before, of those that are cut off all that the machine has
///   read. So regions that know nothing of each other admit at most the limit each.
/// - A request is rejected only if all regions together have used the limit.
/// - When all is well again, a machine is told as used what all regions have stored, and what it knows that
///   they have lost; of a region that is gone what it has read there.
/// - Nobody waits for a region that is gone, but a worker now and then.
///
/// In other worlds nothing is asked.
class RegionTruths {
public:
    /// Both outlive it.
    RegionTruths(const Plan& plan, Servers& servers, Truths& truths);

    /// A request of a worker of this machine, and its client. `memory`: as Machines::Choice has it.
    struct Asking {
        std::size_t key;
        std::size_t machine;
        std::size_t memory;
        std::uint32_t worker;  ///< its process
        Micros begun;
        Micros decided;
        bool alone;  ///< nothing else happens meanwhile, and all is well
    };

    /// One of its limits has decided: the one of this number.
    void decided(const Asking& asking, std::size_t number, const AppliedLimit& applied, LimitTruths& limit);

    /// All of its limits have.
    void decided(const Asking& asking);

    /// A request of the client comes, and counts until nothing more comes of it.
    void begin(std::size_t key) { ++under_way_[key]; }
    void end(std::size_t key) { --under_way_[key]; }

    /// A request was charged so much, or 0, whoever has let it in.
    void charge(std::size_t number, const Account& account, std::int64_t cost, Micros now);

private:
    /// One client's charges under one limit in one region, in their order, and how many were made until then.
    using Charges = std::vector<std::pair<Micros, std::int64_t>>;

    struct Span {
        Micros begin;
        Micros end;
    };

    /// How far the clocks of a region are ahead of UTC: those of its machines, and `most` also of its
    /// servers, where they let windows expire by that.
    struct Ahead {
        Micros least = always;
        Micros most = -always;
    };

    /// For a region that is gone.
    struct Waits {
        std::deque<Micros> begun;  // the last ones
        Micros until = -always;
    };

    /// A window that one machine knows.
    using Known = std::tuple<std::size_t, std::size_t, std::size_t, Millis>;  // limit, key, memory, reset

    std::int64_t charged_in(std::size_t number, const Account& account, const Span& span) const;
    void check_passed(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                      LimitTruths& limit);
    void check_rejected(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                        LimitTruths& limit);
    void check_told(const Asking& asking, std::size_t number, const AppliedLimit& applied,
                    LimitTruths& limit);
    bool reads_others(const Asking& asking) const;
    Span by_clocks_of(std::size_t region, const AppliedLimit& applied) const;
    bool is_within_all_clocks(const Asking& asking, const AppliedLimit& applied) const;
    void fail(const Asking& asking, const LimitTruths& limit, const std::string& what);

    const Plan& plan_;
    Servers& servers_;
    Truths& truths_;
    const std::size_t regions_;
    Micros late_;                  // by then a charge can be read in all regions, where nothing fails
    Micros most_ahead_ = -always;  // the machine's clock that is
    std::vector<Ahead> ahead_;     // by region
    const RegionTroubles troubles_;
    std::map<std::pair<std::size_t, Account>, Charges> charges_;
    std::map<std::size_t, std::int64_t> under_way_;     // by key
    std::map<Known, std::vector<std::int64_t>> known_;  // by region
    std::map<std::uint32_t, Waits> waits_;              // by process
};

}  // namespace rate_limit::world
