#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>

#include "core/table/window_id.h"
#include "limiter/store/read.h"
#include "limiter/waits/shared_grant.h"

namespace rate_limit {

class RunningRead;
class Shard;
class SharedReads;
class Zone;

/// A report's part in a read of one window that others may wait for, too.
class SharedRead final : public SharedGrant<SharedRead> {
public:
    SharedRead() = default;
    ~SharedRead() { cancel(); }

private:
    friend class RunningRead;
    friend class SharedReads;

    void on_give_up() noexcept override;

    RunningRead* running_ = nullptr;  // null: it waits for none
};

/// The reads of windows of one store for reports: at most one of a window at a time on this machine, and at
/// most one a second is answered; all reports that want the same wait for it, or take its reading (see
/// core/machine/records/reading.h). Nothing else is written, here or in Redis.
class SharedReads {
public:
    /// `check_timeout` in milliseconds.
    SharedReads(Zone& zone, Deadlines& deadlines, Msec check_timeout) noexcept;
    ~SharedReads();
    SharedReads(const SharedReads&) = delete;
    SharedReads& operator=(const SharedReads&) = delete;

    /// The report waits for what a node of the shard, or a reading younger than a second, says of the window.
    /// `key` is the window's Redis key, `id` its identity here. The owner may be told within this call.
    void read(SharedRead& part, Shard& shard, std::string_view key, const WindowId& id, const ReadAs& as,
              Answer::Owner& owner) noexcept;

private:
    friend class RunningRead;

    std::unique_ptr<RunningRead> take_out(const WindowId& id) noexcept;

    Zone& zone_;
    Deadlines& deadlines_;
    const Millis patience_;
    std::unordered_map<WindowId, std::unique_ptr<RunningRead>, HashOfId> running_;
};

}  // namespace rate_limit
