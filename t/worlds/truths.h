#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "t/world/configured.h"
#include "t/world/events.h"
#include "t/world/written.h"

namespace rate_limit::world {

/// What must hold of one limit, whatever befalls a world: asked as requests are decided, and at the end.
class Truths {
public:
    /// `lost` outlives this: what it has counts as never written.
    Truths(const LimitSetup& limit, const LostWrites& lost);

    /// The limit has let a request in: by what a store said, or a lease. `reset`: of its window. `begun` and
    /// `decided` say when.
    /// Returns its number among those of the key.
    std::size_t admit(std::size_t key, std::int64_t cost, Millis reset, Micros begun, Micros decided);

    /// The request has ended, and was charged so much; in the books, whoever let it in.
    void charge(std::size_t key, std::int64_t cost) { charged_[key] += cost; }

    /// The request of this number has given back all that it took.
    void give_back(std::size_t key, std::size_t number, std::int64_t cost, Millis reset);

    /// A request that was let in has ended.
    void leave(std::size_t key) { --running_[key]; }

    /// At the end: what the primary has stored for the key, and how much of all keys is in doubt or was told
    /// as lost.
    void compare(std::size_t key, std::int64_t stored, std::int64_t uncertain);

    void fail(const std::string& what) { failures_.push_back(what); }

    /// Whether windows outlast the world, so that compare() makes sense.
    bool lasts() const noexcept { return lasts_; }

    const std::vector<std::string>& failures() const noexcept { return failures_; }
    std::int64_t charged(std::size_t key) { return charged_[key]; }

private:
    struct Taken {
        std::int64_t cost;  // 0: given back
        Micros begun;
        Micros decided;
    };

    void check_bucket(std::size_t key);
    std::int64_t tokens_lost(std::size_t key) const;

    const LimitSetup limit_;
    const LostWrites& lost_;
    Rate rate_;
    bool exact_ = false;  // the mode never admits more than the limit
    bool lasts_ = false;
    std::map<std::pair<std::size_t, Millis>, std::int64_t> windows_;
    std::map<std::size_t, std::vector<Taken>> taken_;
    std::map<std::size_t, std::int64_t> running_;
    std::map<std::size_t, std::int64_t> charged_;
    std::vector<std::string> failures_;
};

}  // namespace rate_limit::world
