#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string_view>

#include "core/limit/window.h"

namespace rate_limit {

/// Parts that a worker has one of each, beside its configuration.
enum class WorkerPart : unsigned char {
    newcomers,
    clock,
    throttles,
    name,
    notice,
    upkeep,
    shared_watch,
    counter_log,
    minutes,
    occupancy,
    connection_room,
    delays,
    end
};

/// All that the limiter keeps of one worker outside its configuration. A process of nginx is one, from its
/// begin to its end; a simulated world has many, and says before each turn whose it is.
class Worker {
public:
    constexpr Worker() noexcept = default;
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;

    /// The worker whose turn it is.
    static Worker& current() noexcept { return *current_; }
    static void enter(Worker& worker) noexcept { current_ = &worker; }

    /// This worker's only object of the type, which has its place in `Part::part`. Made at the first call,
    /// and kept until end(): timers in it may be cleared after all that is static has gone.
    template <typename Part>
    Part& part() noexcept {
        static_assert(sizeof(Part) <= room_of_part);
        static_assert(alignof(Part) <= alignof(std::max_align_t));
        Slot& slot = slots_[static_cast<std::size_t>(Part::part)];
        if (slot.end == nullptr) {
            new (slot.room) Part;
            slot.end = [](void* part) noexcept { static_cast<Part*>(part)->~Part(); };
        }
        return *std::launder(reinterpret_cast<Part*>(slot.room));
    }

    /// Destroys all parts.
    void end() noexcept {
        for (Slot& slot : slots_) {
            if (slot.end != nullptr) {
                slot.end(slot.room);
            }
            slot.end = nullptr;
        }
    }

private:
    static constexpr std::size_t room_of_part = 1024;

    struct Slot {
        alignas(std::max_align_t) unsigned char room[room_of_part] = {};
        void (*end)(void*) noexcept = nullptr;  // null: the part is not made yet
    };

    static Worker* current_;

    std::array<Slot, static_cast<std::size_t>(WorkerPart::end)> slots_{};
};

/// Names this worker to Redis: 16 hexadecimal digits, random, so that no other worker anywhere has them.
/// Made at the first call, by which a worker must have been forked. Empty: the system has no random numbers.
std::string_view worker_id() noexcept;

/// The number of a call that may be made again: above all that this worker has given before, and at least the
/// time in microseconds, by which scripts forget old calls where a window has those of many workers.
std::int64_t next_number() noexcept;

/// So long a call may be made again, in milliseconds: half of the time after which scripts may forget it.
constexpr Millis numbered_life = 300'000;

}  // namespace rate_limit
