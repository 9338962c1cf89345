#include "limiter/zone.h"

#include <algorithm>
#include <new>
#include <utility>

#include "limiter/worker.h"

namespace rate_limit {

namespace {

/// A quarter of the zone, at most most_waiting bytes, is for charges that wait and for notes of tokens. It is
/// bounded because workers walk over it all the time.
constexpr std::size_t waiting_part = 4;
constexpr std::size_t most_waiting = std::size_t{64} * 1024 * 1024;

/// A part of the zone, taken from that quarter, is for overrides.
constexpr std::size_t override_part = 20;

/// So much is for the rates that limits of variable rates have had.
constexpr std::size_t rates_part = 256;
constexpr std::size_t most_rates = std::size_t{64} * 1024;

/// So much is for the sums of which keys the commands to each shard are of.
constexpr std::size_t hot_keys_part = 256;

/// So many workers for each that is configured can count running requests at the same time, those of former
/// configurations included, whose requests may run for days; as far as this part of the zone has room.
constexpr std::size_t places_a_worker = 16;
constexpr std::size_t least_workers = 2;
constexpr std::size_t places_part = 128;

/// So much is for what they count of each limit.
constexpr std::size_t running_part = 64;

/// A worker that has found no place looks again when one has been given up, and so often, in milliseconds.
constexpr std::uint32_t seek_place = 1000;

/// The call by which this worker learns that there is more for it to do before it may leave.
struct Notice {
    static constexpr WorkerPart part = WorkerPart::notice;

    void (*call)() noexcept = nullptr;
};

void notice_more() noexcept {
    const auto call = Worker::current().part<Notice>().call;
    if (call != nullptr) {
        call();
    }
}

/// A sixteenth, at most most_counting bytes, is for what operators see: at least half of it, and
/// least_counters bytes, for counters, and a third of what is left each for what they counted in the last
/// hour, for the keys that are rejected most often, and for the records of nodes. Windows get the rest of the
/// zone.
constexpr std::size_t counting_part = 16;
constexpr std::size_t most_counting = std::size_t{4} * 1024 * 1024;
constexpr std::size_t least_counters = std::size_t{4} * 1024;

/// A part with a board has room for one record at least, and for `most` at most.
template <typename OnBoard>
constexpr std::size_t board_bytes(std::size_t bytes, std::size_t most) noexcept {
    return std::clamp(bytes, OnBoard::bytes_for(1) + OnBoard::alignment,
                      OnBoard::bytes_for(most) + OnBoard::alignment);
}

/// None in a small zone, where one record would take the place of windows. Elsewhere there is room for one
/// shard at least, even beyond the share.
constexpr std::size_t hot_key_bytes(std::size_t size) noexcept {
    const std::size_t share = size / hot_keys_part;
    return share < HotKeyBoard::bytes_for(0) ? 0 : board_bytes<HotKeyBoard>(share, HotKeyBoard::most_shards);
}

constexpr std::size_t place_bytes(std::size_t size, std::size_t workers) noexcept {
    return std::min(size / places_part,
                    WorkerPlaces::bytes_for(places_a_worker * std::max(workers, least_workers)));
}

constexpr std::size_t running_bytes(std::size_t size, std::size_t places) noexcept {
    return std::clamp(size / running_part, RunningCounts::least_bytes_for(places),
                      RunningCounts::bytes_for(places));
}

}  // namespace

/// The memory is all zero, as those objects are at first that are not made here.
bool Zone::create(void* at, std::size_t bytes, const Made& made) noexcept {
    head_ = new (at) Head{{}, made, now_millis()};
    const bool created = use_parts(bytes, [&](auto& table, void* memory, std::size_t size) {
        return table.create(memory, size, made.key);
    });
    head_->mark.set(version, bytes);
    return created;
}

bool Zone::adopt(const Zone& previous) noexcept {
    head_ = previous.head_;
    place_ = previous.place_;
    return head_->mark.is(version) && attach();
}

bool Zone::attach() noexcept {
    return use_parts(head_->mark.size,
                     [](auto& table, void* memory, std::size_t size) { return table.attach(memory, size); });
}

/// Each part begins on a cache line. How many bytes it has follows from the size of the whole and the number
/// of workers, so that all processes find it in the same place.
template <typename UseTable>
bool Zone::use_parts(std::size_t size, UseTable&& use_table) noexcept {
    const LockUser user = lock_user();
    const std::size_t workers = head_->made.workers;
    char* next = reinterpret_cast<char*>(head_);
    const char* const begin = next;
    const auto used = [&] { return static_cast<std::size_t>(next - begin); };
    const auto take = [&](std::size_t bytes) {
        return std::exchange(next, next + bytes / DebtTable::alignment * DebtTable::alignment);
    };
    const auto part = [&](auto& object, std::size_t bytes, const auto&... terms) {
        char* const at = take(bytes);
        return object.use(at, static_cast<std::size_t>(next - at), terms...);
    };
    const auto table = [&](auto& object, std::size_t bytes, std::size_t& taken) {
        char* const at = take(bytes);
        taken = static_cast<std::size_t>(next - at);
        object.set_user(user);
        return use_table(object, at, taken);
    };
    const std::size_t counting = std::min(size / counting_part, most_counting);
    const std::size_t third = (counting - std::min(counting, std::max(counting / 2, least_counters))) / 3;
    const std::size_t waiting = std::min(size / waiting_part, most_waiting);
    take(sizeof(Head));
    fixed_ = reinterpret_cast<Fixed*>(take(sizeof(Fixed)));
    return part(last_hour_, third, user) &&
           part(offenders_, std::min(third, Offenders::bytes_for(workers)), user, workers, since()) &&
           part(nodes_, std::min(third, NodeBoard::bytes_for(NodeBoard::most_nodes)), user) &&
           part(counters_, counting + sizeof(Fixed) - used(), user, workers) &&
           part(overrides_, board_bytes<OverrideTable>(size / override_part, OverrideTable::most), user) &&
           table(debts_, counting + waiting - used(), debt_bytes_) &&
           part(seen_rates_, std::min(size / rates_part, most_rates)) &&
           part(hot_keys_, hot_key_bytes(size), user) && part(places_, place_bytes(size, workers)) &&
           part(running_, running_bytes(size, places_.most()), places_.most()) &&
           table(windows_, size - used(), window_bytes_);
}

void Zone::on_more(void (*call)() noexcept) noexcept {
    Worker::current().part<Notice>().call = call;
}

void Zone::note_tokens() noexcept {
    walk().note();
    notice_more();
}

void Zone::note_unanswered() noexcept {
    notice_more();
}

void Zone::note_waiting() noexcept {
    if (is_leaving()) {
        notice_more();
    }
}

void Zone::seek_a_place() noexcept {
    const std::uint32_t now = ticks_now();
    if (place_sought_ == 0 || now - place_sought_ >= seek_place || places_.deaths() != deaths_sought_) {
        place_sought_ = now != 0 ? now : 1;
        deaths_sought_ = places_.deaths();
        place_ = places_.take(lock_user());
    }
}

/// The master, which makes the zone, serves no requests and takes none.
std::optional<SharedSlots> Zone::slots() noexcept {
    if (!place_) {
        seek_a_place();
    }
    return place_ ? std::optional<SharedSlots>(std::in_place, windows_, places_, *place_) : std::nullopt;
}

void Zone::leave_place() noexcept {
    if (place_) {
        places_.leave(*place_);
        place_.reset();
    }
}

bool Zone::leave() noexcept {
    last_ = last_ || windows_.leave(parent_pid());
    return last_;
}

}  // namespace rate_limit
