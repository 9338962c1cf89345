#include "core/counts/node_board.h"

#include <algorithm>
#include <cstring>

namespace rate_limit {

namespace {

constexpr std::size_t rounded(std::size_t bytes) noexcept {
    return (bytes + NodeBoard::alignment - 1) / NodeBoard::alignment * NodeBoard::alignment;
}

template <typename Words>
void clear(Words& words) noexcept {
    for (auto& word : words) {
        word.store(0, std::memory_order_relaxed);
    }
}

template <typename Words>
bool nobody(const Words& down) noexcept {
    return std::all_of(down.begin(), down.end(),
                       [](const auto& word) { return word.load(std::memory_order_relaxed) == 0; });
}

}  // namespace

std::size_t NodeBoard::bytes_for(std::size_t records) noexcept {
    return sizeof(Header) + rounded(records * sizeof(ids_[0])) + records * sizeof(Record);
}

bool NodeBoard::use(void* memory, std::size_t size, const LockUser& user) noexcept {
    if (!LayoutMark::fits(memory, size, bytes_for(1))) {
        return false;
    }
    user_ = user;
    places_ = std::min(most_nodes, (size - sizeof(Header)) / (sizeof(ids_[0]) + sizeof(Record)));
    while (bytes_for(places_) > size) {
        --places_;
    }
    auto* at = static_cast<char*>(memory);
    header_ = reinterpret_cast<Header*>(at);
    ids_ = reinterpret_cast<std::atomic<std::uint64_t>*>(at + sizeof(Header));
    records_ = reinterpret_cast<Record*>(at + sizeof(Header) + rounded(places_ * sizeof(ids_[0])));
    return true;
}

std::size_t NodeBoard::find(const Identity& node) const noexcept {
    for (std::size_t place = 0; place < places_; ++place) {
        const std::uint64_t id = ids_[place].load(std::memory_order_acquire);
        if (id == node.node) {
            return place;
        }
        if (id == free) {
            break;
        }
    }
    return none;
}

NodeBoard::Noted NodeBoard::note(const Identity& node, std::string_view address, Millis now,
                                 std::size_t most) noexcept {
    Noted noted;
    noted.place = find(node);
    if (noted.place == none && address.size() <= most_address) {
        HeldLock held;
        held.acquire(header_->lock, user_);
        noted.place = find(node);  // another worker may have been faster
        if (noted.place == none) {
            noted.place = place_for(node.store, now, most);
            if (noted.place == none) {
                return noted;
            }
            for (std::size_t i = 0; i < most_names; ++i) {
                noted.replaced[i] = records_[noted.place].names[i].load(std::memory_order_relaxed);
            }
            fill(noted.place, node, address, now);
            noted.is_new = true;
            return noted;
        }
    }
    if (noted.place != none) {
        noted.is_new = now - seen_at(records_[noted.place]) >= told_for;
        if (noted.is_new && told_of(node.store, now) >= most) {
            noted.place = none;  // it comes back to a store that has as many by now
            return noted;
        }
        see(noted.place, node, now);
    }
    return noted;
}

/// Nodes of the store that are told.
std::size_t NodeBoard::told_of(std::uint64_t store, Millis now) const noexcept {
    std::size_t count = 0;
    for (std::size_t place = 0; place < places_; ++place) {
        const Record& record = records_[place];
        count += ids_[place].load(std::memory_order_acquire) > changing &&
                         record.store.load(std::memory_order_relaxed) == store &&
                         now - seen_at(record) < told_for
                     ? 1
                     : 0;
    }
    return count;
}

/// The place for a node of this store, in this order: one that a process was giving to another node when it
/// died, one whose node has been gone for so long that it is not told any more, a free one, and that of the
/// node that has been gone for longest. The caller has the lock.
std::size_t NodeBoard::place_for(std::uint64_t store, Millis now, std::size_t most) const noexcept {
    struct Oldest {
        std::size_t place = none;
        Millis gone = kept_for - 1;

        void look(std::size_t at, Millis for_so_long) noexcept {
            if (for_so_long > gone) {
                place = at;
                gone = for_so_long;
            }
        }
    };
    Oldest of_all;
    Oldest of_store;
    std::size_t unused = none;
    for (std::size_t place = 0; place < places_ && unused == none; ++place) {
        const std::uint64_t id = ids_[place].load(std::memory_order_relaxed);
        if (id == changing) {
            return place;
        }
        if (id == free) {
            unused = place;
            continue;
        }
        const Millis gone = now - seen_at(records_[place]);
        of_all.look(place, gone);
        if (records_[place].store.load(std::memory_order_relaxed) == store && gone < told_for) {
            of_store.look(place, gone);
        }
    }
    if (told_of(store, now) >= most) {
        return of_store.place;
    }
    return unused == none || (of_all.place != none && of_all.gone >= told_for) ? of_all.place : unused;
}

/// A process that dies in here leaves a place that nobody reads, and that is given away next.
void NodeBoard::fill(std::size_t place, const Identity& node, std::string_view address, Millis now) noexcept {
    Record& record = records_[place];
    ids_[place].store(changing, std::memory_order_seq_cst);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    record.store.store(node.store, std::memory_order_relaxed);
    record.shard.store(node.shard, std::memory_order_relaxed);
    record.seen.store(now, std::memory_order_relaxed);
    record.since.store(now, std::memory_order_relaxed);
    record.primary.store(0, std::memory_order_relaxed);
    record.length.store(static_cast<std::uint32_t>(address.size()), std::memory_order_relaxed);
    for (Workers& workers : record.down) {
        clear(workers);
    }
    clear(record.names);
    std::array<std::uint64_t, words_of_address> words{};
    std::memcpy(words.data(), address.data(), address.size());
    for (std::size_t i = 0; i < words.size(); ++i) {
        record.address[i].store(words[i], std::memory_order_relaxed);
    }
    ids_[place].store(node.node, std::memory_order_release);
}

/// Written once in a while: the cache line stays with all workers that read it.
void NodeBoard::see(std::size_t place, const Identity& node, Millis now) noexcept {
    constexpr Millis often_enough = 500;
    if (has(place, node)) {
        const Millis seen = seen_at(records_[place]);
        if (now < seen || now - seen >= often_enough) {
            records_[place].seen.store(now, std::memory_order_relaxed);
        }
    }
}

void NodeBoard::set_primary(std::size_t place, const Identity& node, bool primary) noexcept {
    if (has(place, node) && (records_[place].primary.load(std::memory_order_relaxed) != 0) != primary) {
        records_[place].primary.store(primary ? 1 : 0, std::memory_order_relaxed);
    }
}

void NodeBoard::set_up(std::size_t place, const Identity& node, std::size_t worker, bool up,
                       Millis now) noexcept {
    if (!has(place, node)) {
        return;
    }
    Record& record = records_[place];
    Workers& down = down_of(record);
    std::atomic<std::uint64_t>& word = down[worker % most_workers / 64];
    const std::uint64_t bit = std::uint64_t{1} << worker % 64;
    const bool was_up = (word.load(std::memory_order_relaxed) & bit) == 0;
    if (was_up == up) {
        return;
    }
    if (!up && nobody(down)) {
        record.since.store(now, std::memory_order_relaxed);
    }
    if (up) {
        word.fetch_and(~bit, std::memory_order_relaxed);
    } else {
        word.fetch_or(bit, std::memory_order_relaxed);
    }
    if (up && nobody(down)) {
        record.since.store(now, std::memory_order_relaxed);
    }
}

void NodeBoard::set_names(std::size_t place, const Identity& node, const Names& names) noexcept {
    if (has(place, node)) {
        for (std::size_t i = 0; i < most_names; ++i) {
            records_[place].names[i].store(names[i], std::memory_order_relaxed);
        }
    }
}

/// Those that may still write there have been leaving since the configuration before this one began.
void NodeBoard::begin_configuration(Millis now) noexcept {
    generation_ = header_->generation.fetch_add(1, std::memory_order_relaxed) + 1;
    for (std::size_t place = 0; place < places_; ++place) {
        Record& record = records_[place];
        clear(down_of(record));
        if (!nobody(record.down[(generation_ + 1) % 2])) {
            record.since.store(now, std::memory_order_relaxed);
        }
    }
}

void NodeBoard::begin_worker(std::size_t worker, Millis now) noexcept {
    for (std::size_t place = 0; place < places_; ++place) {
        const std::uint64_t id = ids_[place].load(std::memory_order_acquire);
        if (id > changing) {
            set_up(place, {0, 0, id}, worker, true, now);
        }
    }
}

/// A record that was read counts only if the place is still the same node's afterwards: its address does not
/// change.
bool NodeBoard::read_at(std::size_t place, std::uint64_t id, std::size_t workers, Millis now,
                        Told& told) const {
    const Record& record = records_[place];
    std::array<std::uint64_t, words_of_address> words{};
    for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = record.address[i].load(std::memory_order_relaxed);
    }
    const std::size_t length =
        std::min<std::size_t>(record.length.load(std::memory_order_relaxed), most_address);
    told.address.assign(reinterpret_cast<const char*>(words.data()), length);
    told.primary = record.primary.load(std::memory_order_relaxed) != 0;
    told.since = record.since.load(std::memory_order_relaxed);
    told.gone = now - seen_at(record) >= told_for;
    told.up = true;
    for (std::size_t first = 0; first < std::min(workers, most_workers); first += 64) {
        const std::size_t count = std::min(workers, most_workers) - first;
        const std::uint64_t asked = count < 64 ? (std::uint64_t{1} << count) - 1 : ~std::uint64_t{0};
        told.up = told.up && (down_of(record)[first / 64].load(std::memory_order_relaxed) & asked) == 0;
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    return ids_[place].load(std::memory_order_relaxed) == id;
}

std::size_t NodeBoard::named() const noexcept {
    std::size_t named = 0;
    for (std::size_t place = 0; place < places_; ++place) {
        named += ids_[place].load(std::memory_order_acquire) > changing &&
                         records_[place].names[0].load(std::memory_order_relaxed) != 0
                     ? 1
                     : 0;
    }
    return named;
}

}  // namespace rate_limit
