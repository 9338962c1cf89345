#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// The nodes that the workers of a machine use, as these know them, in memory that processes share and that
/// outlives them: a record for each node, with its address, its role, which workers hold it for down, and
/// when some worker last had it. Workers note a node when they come to use it, and then now and then that
/// they still do. A node that nobody has is gone; its record stays until another node needs the place, and
/// the node finds it again if it comes back before.
///
/// Only note() waits for other processes. Times are milliseconds since the epoch; where the clock has been
/// set back, a node of before that counts as present until then.
class NodeBoard {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// Nodes of all stores together, however much memory there is.
    static constexpr std::size_t most_nodes = 1024;

    /// Nodes that one store's servers name, and that are told.
    static constexpr std::size_t most_of_store = 128;

    /// Bytes of an address. One that is longer has no record.
    static constexpr std::size_t most_address = 128;

    /// How long a node that is gone is still told.
    static constexpr Millis told_for = 3'600'000;

    /// After this time a node that is gone gives way, where no other place can be had.
    static constexpr Millis kept_for = 60'000;

    /// Workers are told apart by number, modulo this.
    static constexpr std::size_t most_workers = 256;

    /// Names of counters that a record can have.
    static constexpr std::size_t most_names = 3;

    /// The place of a record that there is not.
    static constexpr std::size_t none = ~std::size_t{0};

    using Names = std::array<std::uint64_t, most_names>;

    /// Digests of what tells nodes apart.
    class Identity {
    public:
        /// `node` is one of the store, the shard and the address.
        constexpr Identity(std::uint64_t store, std::uint64_t shard, std::uint64_t node) noexcept
            : store(store), shard(shard), node(node | 2) {}

        const std::uint64_t store;
        const std::uint64_t shard;  ///< names the store and the shard
        const std::uint64_t node;   ///< 2 or more
    };

    struct Told {
        std::string address;
        bool primary = false;
        bool up = true;     ///< none of the workers asked for holds it for down
        Millis since = 0;   ///< when that last changed, for any worker
        bool gone = false;  ///< for told_for or longer
    };

    /// The place where note() has found a node.
    struct Noted {
        std::size_t place = none;
        bool is_new = false;  ///< it had no record, or was gone for told_for
        Names replaced{};     ///< the names that the place had for another node; 0: no more
    };

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. False: there
    /// is no room for one record.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept;

    /// Bytes for so many records.
    static std::size_t bytes_for(std::size_t records) noexcept;

    std::size_t places() const noexcept { return places_; }

    /// The node is in use: finds its record, or makes it. A new one is a replica, is up, and has no names. No
    /// place: all are taken by nodes that were in use within kept_for, or the store has `most` of
    /// those, or the address is too long.
    Noted note(const Identity& node, std::string_view address, Millis now,
               std::size_t most = most_of_store) noexcept;

    /// The record of this node, or none. Gone nodes have one, too.
    std::size_t find(const Identity& node) const noexcept;

    /// Whether the record at that place is still this node's.
    bool has(std::size_t place, const Identity& node) const noexcept {
        return place < places_ && ids_[place].load(std::memory_order_acquire) == node.node;
    }

    // These change nothing where the record is not the node's any more; the caller has seen it
    // just now.

    /// It is still in use.
    void see(std::size_t place, const Identity& node, Millis now) noexcept;
    void set_primary(std::size_t place, const Identity& node, bool primary) noexcept;

    /// Whether this worker takes it for up.
    void set_up(std::size_t place, const Identity& node, std::size_t worker, bool up, Millis now) noexcept;

    /// The names of the counters that it has from now on; 0: no more.
    void set_names(std::size_t place, const Identity& node, const Names& names) noexcept;

    /// A configuration begins, with workers of its own: to be called in the process that starts them. What
    /// workers of configurations before it say, some of which may still be leaving, does not count for it.
    void begin_configuration(Millis now) noexcept;

    /// A worker with this number begins: what one before it said of nodes does not count any more.
    void begin_worker(std::size_t worker, Millis now) noexcept;

    /// Reads the record of a node; `workers`: only what workers of lower numbers say counts. False: it has
    /// none any more. Throws std::bad_alloc.
    bool read(std::size_t place, const Identity& node, std::size_t workers, Millis now, Told& told) const {
        return has(place, node) && read_at(place, node.node, workers, now, told);
    }

    /// Calls fn(Told) for each node of the shard. Throws std::bad_alloc, and what fn throws.
    template <typename Fn>
    void for_each_of(const Identity& shard, std::size_t workers, Millis now, Fn&& fn) const {
        Told told;
        for (std::size_t place = 0; place < places_; ++place) {
            const std::uint64_t id = ids_[place].load(std::memory_order_acquire);
            if (id > changing && records_[place].shard.load(std::memory_order_relaxed) == shard.shard &&
                read_at(place, id, workers, now, told)) {
                fn(const_cast<const Told&>(told));
            }
        }
    }

    /// Calls fn(name) for each name of nodes that are not gone.
    template <typename Fn>
    void for_each_name(Millis now, Fn&& fn) const {
        for (std::size_t place = 0; place < places_; ++place) {
            const Record& record = records_[place];
            if (ids_[place].load(std::memory_order_acquire) <= changing ||
                now - seen_at(record) >= told_for) {
                continue;
            }
            for (const std::atomic<std::uint64_t>& word : record.names) {
                const std::uint64_t name = word.load(std::memory_order_relaxed);
                if (name != 0) {
                    fn(name);
                }
            }
        }
    }

    bool has_names(std::size_t place, const Identity& node) const noexcept {
        return has(place, node) && records_[place].names[0].load(std::memory_order_relaxed) != 0;
    }

    /// How many records have names.
    std::size_t named() const noexcept;

private:
    static constexpr std::size_t words_of_address = most_address / sizeof(std::uint64_t);

    struct alignas(alignment) Header {
        OwnedLock lock;                         // held by the process that gives a place to a node
        std::atomic<std::uint64_t> generation;  // how many configurations have begun
    };

    /// A bit for each.
    using Workers = std::array<std::atomic<std::uint64_t>, most_workers / 64>;

    struct alignas(alignment) Record {
        std::atomic<std::uint64_t> store;
        std::atomic<std::uint64_t> shard;
        std::atomic<Millis> seen;
        std::atomic<Millis> since;
        std::atomic<std::uint32_t> primary;  // 0: it is not
        std::atomic<std::uint32_t> length;   // bytes of the address
        std::array<Workers, 2> down;  // workers that say so, of the configurations with even and odd numbers
        std::array<std::atomic<std::uint64_t>, most_names> names;
        std::array<std::atomic<std::uint64_t>, words_of_address> address;
    };
    static_assert(sizeof(Record) == 4 * alignment, "nothing is lost");

    // Words in ids_ where no node is: a free place, behind which there are only free ones; and a place that
    // is being given to another node.
    static constexpr std::uint64_t free = 0;
    static constexpr std::uint64_t changing = 1;

    std::size_t told_of(std::uint64_t store, Millis now) const noexcept;
    std::size_t place_for(std::uint64_t store, Millis now, std::size_t most) const noexcept;
    void fill(std::size_t place, const Identity& node, std::string_view address, Millis now) noexcept;
    bool read_at(std::size_t place, std::uint64_t id, std::size_t workers, Millis now, Told& told) const;
    Workers& down_of(Record& record) const noexcept { return record.down[generation_ % 2]; }
    const Workers& down_of(const Record& record) const noexcept { return record.down[generation_ % 2]; }
    static Millis seen_at(const Record& record) noexcept {
        return record.seen.load(std::memory_order_relaxed);
    }

    LockUser user_;
    Header* header_ = nullptr;
    std::atomic<std::uint64_t>* ids_ = nullptr;  // whose the places are: apart, so that a search reads little
    Record* records_ = nullptr;
    std::size_t places_ = 0;
    std::uint64_t generation_ = 0;  // the configuration whose process this is
};

}  // namespace rate_limit
