#pragma once

#include <cstdint>
#include <string_view>

#include "core/table/window_id.h"
#include "limiter/waits/shared_grant.h"

namespace rate_limit {

class Holds;

/// The slots of one key, as one request's limit has them.
struct KeySlots {
    WindowId id;
    std::string_view key;    ///< in Redis
    std::int64_t limit = 0;  ///< how many requests may run at a time
    std::string_view name;   ///< the limit's; empty where it is not needed: the slots are noted already
};

/// A request that waits for a slot. Where take_granted() is 1, it runs, and the caller that takes that lets
/// it leave; else the limit is reached. The answer's window has what is used besides this request.
class Entrance final : public SharedGrant<Entrance> {
public:
    Entrance() = default;
    ~Entrance() { cancel(); }

private:
    friend class Holds;

    KeySlots of_;
};

}  // namespace rate_limit
