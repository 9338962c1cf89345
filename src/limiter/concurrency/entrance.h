#pragma once

#include <cstdint>
#include <string_view>

#include "core/queue.h"
#include "core/table/window_id.h"
#include "limiter/waits/answer.h"

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
class Entrance final : public Grant, public Place<Entrance> {
public:
    Entrance() = default;
    ~Entrance() { cancel(); }

    void cancel() noexcept override;

private:
    friend class Holds;

    void deadline_passed() noexcept override;
    void begin(Deadlines& deadlines, ShardCounters& counters, const KeySlots& of, Owner& owner) noexcept;
    void stand_in(Queue<Entrance>& queue) noexcept;
    void leave_queue() noexcept;
    void finish(bool enters, const Window& window) noexcept;
    void fail(const char* reason) noexcept;

    KeySlots of_;
    bool queued_ = false;
};

}  // namespace rate_limit
