#pragma once

#include <array>
#include <cstddef>

namespace rate_limit {

/// What a worker has one of, beside its configuration.
enum class WorkerPart : unsigned char { clock, throttles, name, notice, upkeep, shared_watch, counter_log };

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
        Slot& slot = slots_[static_cast<std::size_t>(Part::part)];
        if (slot.object == nullptr) {
            slot = {new Part, [](void* object) noexcept { delete static_cast<Part*>(object); }};
        }
        return *static_cast<Part*>(slot.object);
    }

    /// Destroys all parts.
    void end() noexcept {
        for (Slot& slot : slots_) {
            if (slot.object != nullptr) {
                slot.end(slot.object);
            }
            slot = {};
        }
    }

private:
    struct Slot {
        void* object = nullptr;  // null: not made yet
        void (*end)(void*) noexcept = nullptr;
    };

    static Worker* current_;

    std::array<Slot, static_cast<std::size_t>(WorkerPart::counter_log) + 1> slots_{};
};

}  // namespace rate_limit
