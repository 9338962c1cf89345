#include "core/topology/shared_moves.h"

namespace rate_limit {

bool SharedMoves::add(const Move& move, std::uint32_t configuration, std::uint32_t now,
                      const LockUser& user) noexcept {
    if (move.to.host.size() > max_host) {
        return false;
    }
    HeldLock held;
    held.acquire(lock_, user);
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    for (std::uint64_t n = count; n-- > 0 && count - n <= room;) {
        const Entry& entry = entries_[n % room];
        if (static_cast<std::int32_t>(now - entry.at) >= pace) {  // below 0: by a clock that is ahead
            break;
        }
        const bool full = count - n == room;
        const bool known = entry.slot == move.slot && entry.configuration == configuration;
        if (full || (known && entry.port == move.to.port && entry.host_text() == move.to.host)) {
            return false;
        }
        if (known) {
            break;  // it has moved on since
        }
    }
    Entry& entry = entries_[count % room];
    entry.at = now;
    entry.configuration = configuration;
    entry.slot = move.slot;
    entry.port = move.to.port;
    entry.size = static_cast<unsigned char>(move.to.host.copy(entry.host, max_host));
    count_.store(count + 1, std::memory_order_release);
    return true;
}

bool SharedMoves::next(std::uint64_t& seen, std::uint32_t configuration, Move& move, const LockUser& user) {
    HeldLock held;
    held.acquire(lock_, user);
    const std::uint64_t count = count_.load(std::memory_order_relaxed);
    if (seen > count || count - seen >= room) {
        seen = count - (count < room ? count : room - 1);
    }
    while (seen != count) {
        const Entry& entry = entries_[seen % room];
        if (entry.configuration == configuration) {
            move = {entry.slot, {std::string(entry.host_text()), entry.port}};
            ++seen;
            return true;
        }
        ++seen;
    }
    return false;
}

}  // namespace rate_limit
