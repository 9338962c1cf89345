#pragma once

#include <array>
#include <string_view>
#include <unordered_map>

#include "core/machine/records/debt_record.h"
#include "core/machine/workers/note_walk.h"
#include "core/queue.h"
#include "core/slots/shared_slots.h"
#include "limiter/concurrency/entrance.h"
#include "limiter/concurrency/hold_command.h"
#include "limiter/loop.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Charges;
class Nodes;
class Zone;
struct Reply;
struct StoreConf;

/// The slots of one shard's keys, as one worker asks for them and gives them back. One call of a key is under
/// way on a machine; requests that come meanwhile wait for it, in this worker for its answer, in others until
/// they find it in the key's record. Each key of which this machine may hold slots is noted in the zone, so
/// that any worker can hold them for longer, or give them back, when no request comes.
class Holds final : private HoldCommand::Owner {
public:
    /// How long slots are held of which Redis hears nothing, in milliseconds.
    static constexpr Millis ttl = 30'000;

    /// `route` as Backlog has it.
    Holds(const StoreConf& store, Route route, Nodes& nodes, Charges& charges, ShardCounters& counters,
          Deadlines& deadlines) noexcept;
    Holds(const Holds&) = delete;
    Holds& operator=(const Holds&) = delete;
    ~Holds() = default;

    /// Under which terms a request of this limit uses slots; of a store that does not answer, the running
    /// requests of this machine are all that counts.
    SlotsTerms terms(std::int64_t limit, Truth truth = Truth::redis) const noexcept;

    /// The name of this machine in Redis.
    std::string_view me() const noexcept { return {me_.data(), me_.size()}; }

    /// The request waits for a slot. `of.key` stays valid while it waits.
    void enter(Entrance& entrance, const KeySlots& of, Answer::Owner& owner) noexcept;

    /// This machine may hold slots of the key, or has requests running that Redis has to be told of: notes
    /// it, so that any worker looks after them. False without room for it.
    bool note(const KeySlots& of) noexcept;

    /// A request ends that ran.
    void leave(const KeySlots& of) noexcept;

    /// Looks after the slots of a note: asks Redis for what is due. `all`: no more requests come, and slots
    /// that none uses go back.
    enum class Left : unsigned char { nothing, some };
    struct Look {
        bool called = false;
        Left left = Left::nothing;  ///< some: slots are left, or running requests
    };
    Look look(const Noted& seen, bool all) noexcept;

    /// The shard has another primary: nobody else waits for what the one before was asked.
    void change_primary() noexcept { open_.clear(); }

private:
    void take(HoldCommand& command, Node& from, const Reply* reply) noexcept override;
    void give_up(HoldCommand& command) noexcept override;

    void try_to_enter(Entrance& entrance, Asking asking) noexcept;
    void stand_in_line(Entrance& entrance) noexcept;
    void ask(Entrance& entrance, const SlotsCall& call) noexcept;
    bool send(const KeySlots& of, const SlotsCall& call, Entrance* waits = nullptr) noexcept;
    void close(HoldCommand& command) noexcept;
    void serve(Queue<Entrance>& waiting, const char* failure) noexcept;
    void try_again() noexcept;

    const std::string_view store_;
    const Routes& routes_;
    const Route route_;
    Nodes& nodes_;
    Charges& charges_;
    ShardCounters& counters_;
    Deadlines& deadlines_;
    Zone& zone_;
    const Millis patience_;
    std::array<char, 16> me_;                                    // the machine, in hex
    std::unordered_map<WindowId, HoldCommand*, HashOfId> open_;  // whose requests wait for its answer
    Queue<Entrance> elsewhere_;  // requests that wait for calls of other workers
    Timer again_{this, [](void* self) noexcept { static_cast<Holds*>(self)->try_again(); },
                 Timer::Worker::leaves};
};

}  // namespace rate_limit
