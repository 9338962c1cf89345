#pragma once

#include <cstddef>
#include <utility>

#include "limiter/worker.h"

namespace rate_limit {

/// The connections that this worker makes before they are needed: at most an eighth of all that it can have,
/// for clients need the others. The log says once of a machine's first worker that this is not enough.
class ConnectionRoom {
public:
    static constexpr WorkerPart part = WorkerPart::connection_room;

    /// That of one connection, as long as it is taken.
    class Place {
    public:
        Place() noexcept = default;
        ~Place() { leave(); }
        Place(const Place&) = delete;
        Place& operator=(const Place&) = delete;

        bool is_taken() const noexcept { return taken_; }

        /// It is not taken. False: there is no room.
        bool take() noexcept { return taken_ = current().take(); }

        void leave() noexcept {
            if (std::exchange(taken_, false)) {
                --current().taken_;
            }
        }

    private:
        bool taken_ = false;
    };

private:
    static ConnectionRoom& current() noexcept { return Worker::current().part<ConnectionRoom>(); }
    bool take() noexcept;

    std::size_t taken_ = 0;
    bool told_ = false;
};

}  // namespace rate_limit
