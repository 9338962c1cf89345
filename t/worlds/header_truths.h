#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "t/world/client_request.h"
#include "t/world/written.h"
#include "t/worlds/limit_truths.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// Headers agree with the decision, with one another, and with what clients were told before.
class HeaderTruths {
public:
    /// All outlive it.
    HeaderTruths(const Plan& plan, Truths& truths);

    /// One limit's part in a request that has just been decided, in that turn.
    struct Part {
        const ClientRequest& request;
        std::size_t number;  ///< of the limit, in the request
        Claim claim;         ///< the client, and the machine that has told it
        std::int64_t cost;
        Micros begun;
        Micros decided;
    };
    void check(const Part& part, const LimitTruths& limit);

    /// A request was told, when it was `decided`, of the window that ends at `reset`, and has been charged
    /// there: the window stays.
    void note_lasting(const LimitTruths& limit, const Claim& claim, Millis reset, Micros decided);

private:
    /// The end of a window, as a client was told it last.
    struct Shown {
        Millis reset = 0;
        bool confirmed = false;  // the machine knows that its store has it
        Micros decided = 0;
    };
    using Place = std::pair<const LimitTruths*, Claim>;

    void check_room(const Part& part);
    void check_used(const Part& part);
    void check_retry(const Part& part, Millis now);
    void check_reset(const Part& part, const LimitTruths& limit, Millis now);
    bool stays(const Place& place, const Shown& shown) const;
    void fail(const Part& part, const std::string& what);

    Truths& truths_;
    const Millis clocks_apart_;  // so much the clocks of two machines may differ, or that of one from before
    Millis ahead_ = 0;           // of the world's time, by the clock of any machine that has told something
    std::map<Place, Shown> shown_;
    std::map<std::pair<Place, Millis>, Micros> lasting_;  // since when
};

}  // namespace rate_limit::world
