#include "limiter/wire/connection/connection_room.h"

#include <algorithm>
#include <utility>

#include "limiter/loop.h"

namespace rate_limit {

bool ConnectionRoom::take() noexcept {
    const std::size_t most = std::max<std::size_t>(most_connections() / 8, 1);
    if (taken_ < most) {
        ++taken_;
        return true;
    }
    if (!std::exchange(told_, true) && number_of_worker() == 0) {
        log_line(process_log(), LogLevel::notice,
                 "rate limit: each worker connects to %zu servers before they are needed, an eighth of "
                 "worker_connections, and to others when a request needs them; for more, raise "
                 "worker_connections",
                 most);
    }
    return false;
}

}  // namespace rate_limit
