#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/limit/window.h"
#include "t/world/server.h"

namespace rate_limit::world {

/// How much one write of the limiter has changed, in the key's own unit: the cost of a window, nanoseconds of
/// a bucket, slots of running requests.
struct Written {
    std::string key;
    std::int64_t more = 0;
};

/// The meaning of one server's keys, so that it can be told what a write has changed.
class Ledger {
public:
    /// The server has these keys now, whatever it had before.
    void begin(Server& server);

    /// The change by this effect, which `server` has just made.
    Written take(Server& server, const Effect& effect);

    /// All that the keys of the server stand for.
    static std::vector<Written> all_of(Server& server);

private:
    struct Count {
        Millis reset = 0;
        std::int64_t used = 0;
        std::int64_t full_at = 0;  // of a bucket: nanoseconds of the epoch
    };

    static Count count_of(const Value& value);

    std::unordered_map<std::string, Count> counts_;
};

/// The writes that a failover or a server without its data has lost, by key.
class LostWrites {
public:
    void add(const Written& lost);

    struct Sums {
        std::int64_t taken = 0;       ///< all that lost writes had charged or taken
        std::int64_t given_back = 0;  ///< and all that they had given back
    };

    /// The sums of all keys that begin and end so.
    Sums of(std::string_view beginning, std::string_view ending) const;
    Sums of(std::string_view key) const { return of(key, key); }

private:
    std::map<std::string, Sums> lost_;
};

}  // namespace rate_limit::world
