#pragma once

#include <cstdint>

#include "bench/simulate/events.h"
#include "bench/simulate/measures.h"
#include "core/limit/window.h"

namespace rate_limit::simulated {

class Link;
class Shard;
class World;
struct Message;

class Sender {
public:
    virtual void answered(Message& message) = 0;

    /// The connection broke, or there was none. `sent`: the server may have done it.
    virtual void lost(Message& message, bool sent) = 0;

    /// The worker was killed.
    virtual void killed() = 0;

protected:
    ~Sender() = default;
};

/// A command of a worker on its way to a server, and its answer on its way back.
struct Message final : Happening {
    void happen() override;

    Command command = Command::check;
    Key key = 0;
    std::int64_t cost = 0;
    Opening opening;
    Wanted wanted;
    Millis reset = 0;   // refunds only
    Numbered numbered;  // refunds only

    std::int64_t granted = 0;
    Window window;

    Sender* sender = nullptr;  // null: it was killed
    Link* link = nullptr;
    Message* before = nullptr;  // among those of the link that are not answered
    Message* after = nullptr;
    bool is_answer = false;
    bool dead = false;  // the connection broke
};

/// A worker's connection to one server: what is sent arrives in that order, and so do the answers.
class Link {
public:
    Link(World& world, Shard& shard, bool replica) noexcept
        : world_(world), shard_(shard), replica_(replica) {}

    bool usable() const noexcept { return usable_; }
    bool is_replica() const noexcept { return replica_; }

    /// A message to fill in, and then to send().
    Message& take(Command command, Key key, Sender& sender);
    void send(Message& message);

    /// The server is away: what is not answered is lost.
    void fail();
    void mend() noexcept { usable_ = true; }

    /// The worker was killed. What it has sent is done all the same.
    void kill();

private:
    friend struct Message;

    void arrive(Message& message);
    void come_back(Message& message);
    void remove(Message& message) noexcept;

    World& world_;
    Shard& shard_;
    const bool replica_;
    bool usable_ = true;
    Micros arrives_ = 0;  // the last one sent
    Micros returns_ = 0;  // the last answer
    Message* first_ = nullptr;
    Message* last_ = nullptr;
};

}  // namespace rate_limit::simulated
