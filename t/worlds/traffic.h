#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "t/world/client_request.h"
#include "t/worlds/event_log.h"
#include "t/worlds/far_truths.h"
#include "t/worlds/header_truths.h"
#include "t/worlds/limit_truths.h"
#include "t/worlds/machines.h"
#include "t/worlds/penalty_truths.h"
#include "t/worlds/plan.h"
#include "t/worlds/region_truths.h"
#include "t/worlds/turn_watch.h"

namespace rate_limit::world {

/// The requests of one world, from their begins to their ends, and what is asked about each.
class Traffic {
public:
    /// All of them outlive it.
    Traffic(Events& events, const Plan& plan, Machines& machines, Servers& servers, ToldLosses& told,
            TurnWatch& turns, FarTruths& far, Truths& truths, EventLog& log);

    std::uint64_t count() const noexcept { return count_; }

    /// All is well again, and no request comes any more: some clients use up what there is.
    void use_up();

    /// They are idle since then: each asks once more. Who is rejected comes back when it was told to.
    void ask_for_more();

    /// Whether each request has been decided, and has come to its turn: none has come for a while.
    void check_decided();

    /// Once more, just before all workers leave: what they have fetched in advance is still at hand then.
    void come_last();

    /// By so much later all that ask_for_more() leads to is over.
    static constexpr Micros longest_retry = 12 * second;

    /// The truths of each limit of the plan.
    std::deque<LimitTruths>& limits() noexcept { return limits_; }

    // Members of Machines::User.

    bool uses(const WorkerProcess& worker) const;
    void forget(const WorkerProcess& worker);
    void vanish(const WorkerProcess& worker, bool memory);

private:
    static constexpr std::size_t most_limits = 3;

    /// Why a request comes.
    enum class Purpose : unsigned char {
        ordinary,
        uses_up,  ///< see use_up()
        asks,     ///< see ask_for_more(), also when it comes back
    };

    /// A request as it comes.
    struct Arrival {
        Purpose purpose;
        std::size_t key;
        std::int64_t cost;
        std::optional<std::int64_t> reserve{};
        std::array<std::size_t, most_limits> told{};  // by limit: to wait, since the client asks
    };

    /// A request, and how far it has come.
    struct Visit {
        std::unique_ptr<ClientRequest> request;
        WorkerProcess* worker;
        std::size_t memory;  // of its machine
        std::size_t key;
        std::int64_t cost;
        Micros begun;
        Purpose purpose;
        std::array<std::size_t, most_limits> told;
        std::int64_t reserve = 0;  // before; 0: its cost
        Micros decided = 0;
        std::array<std::size_t, most_limits> numbers{};  // among those that each limit has let in
        std::array<KnownCharges::Known, most_limits> known{};
        Events::Place next{};  // what happens to it next
    };

    /// A request that a store may not have been told of yet: by the worker that had the request, or by
    /// another one of its machine, which has taken up what waited.
    struct Recent {
        const WallClock* machine;  // its clock, to tell machines apart
        Micros ended;
        Account account;
        std::int64_t cost;
    };

    void begin_arrivals();
    void arrive();
    void come_again();
    bool is_over() const;
    bool begin_request();
    void begin_request(const Arrival& arrival, const Machines::Choice& at);
    void begin(Visit& visit);
    void decided(Visit& visit);
    void admitted(Visit& visit);
    void check_regions(const Visit& visit);
    void note_confirmed(const Visit& visit);
    void tell(const Visit& visit);
    void check_headers(const Visit& visit);
    void end(Visit& visit);
    void let_go(const Visit& visit);
    void run(Visit& visit);
    void wait_for_turn(Visit& visit);
    void come_to_turn(Visit& visit);
    void leave_queue(Visit& visit);
    void end_request(Visit& visit);
    void settled(Visit& visit);
    std::int64_t smallest_limit() const;
    std::int64_t cost_of_users() const;
    void decided_when_well(const Visit& visit);
    void come_back(const Visit& visit, std::size_t shown);
    bool may_be_held(std::size_t key) const;
    std::size_t most_told(const LimitTruths& limit) const;
    bool clocks_agree() const;
    bool may_have_been_forgotten(const Visit& visit);
    void forget_ended();
    void lose(const Account& account, std::int64_t cost);
    Account account_of(std::size_t key, const WorkerProcess& worker) const;
    void note_recent(const Visit& visit);
    static std::int64_t cost_before(const Visit& visit, const AppliedLimit& applied);
    Claim claim_of(const Visit& visit, const LimitTruths& limit) const;
    std::size_t number_of(const AppliedLimit& applied) const;

    Events& events_;
    const Plan& plan_;
    Machines& machines_;
    TurnWatch& turns_;
    FarTruths& far_;
    Truths& truths_;
    EventLog& log_;
    HeaderTruths headers_;
    PenaltyTruths penalties_;
    RegionTruths regions_;
    Chance chance_;
    std::deque<LimitTruths> limits_;
    const Micros patience_;           // how long a request may wait
    std::list<Visit> visits_;         // those that are under way, and some that have ended
    std::deque<Recent> recent_;       // where workers may be killed
    std::vector<std::size_t> users_;  // keys that have used up what there is
    std::map<const WorkerProcess*, std::set<Micros>> forgotten_;  // when a worker has found out servers
    Micros returns_until_ = 0;  // who was told to wait for longer does not come back
    std::uint64_t count_ = 0;
};

}  // namespace rate_limit::world
