#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "t/world/client_request.h"
#include "t/worlds/limit_truths.h"
#include "t/worlds/plan.h"
#include "t/worlds/truths.h"

namespace rate_limit::world {

/// The truths of penalties: asked as requests are decided.
class PenaltyTruths {
public:
    /// Both outlive this.
    PenaltyTruths(const Plan& plan, Truths& truths);

    /// One limit's part in a request that has just been decided: `number` of the limit in each setup of the
    /// plan; `claim` names the memory of the request's machine. It began at `begun`.
    void decided(const ClientRequest& request, std::size_t part, std::size_t number, const Claim& claim,
                 Micros begun, Micros now);

private:
    struct Begin {
        std::size_t memory;
        Micros at;
    };
    using Key = std::pair<std::size_t, std::size_t>;  // number of the limit, and of the key

    void check_passed(const Begin& begin, const std::vector<Begin>& all, std::size_t number,
                      const Claim& claim, Micros begun, Micros now);
    bool is_another_there(const Begin& begin, const std::vector<Begin>& all, Micros lasts) const;
    void fail(std::size_t number, std::size_t key, const std::string& what);

    const Plan& plan_;
    Truths& truths_;
    const Micros apart_;    // clocks
    const bool all_learn_;  // nothing keeps machines from hearing of what others have begun
    std::map<Key, std::vector<Begin>> begins_;
};

}  // namespace rate_limit::world
