#pragma once

#include <array>
#include <atomic>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/limit/window.h"
#include "core/table/board.h"
#include "core/text/kept_text.h"

namespace rate_limit {

/// The nodes that the workers of a machine use, as these know them, in memory that processes share and that
/// outlives them: a record for each node, with its address, its role, which workers hold it for down, and
/// when some worker last had it. Workers note a node when they come to use it, and then now and then that
/// they still do. A node that nobody has is gone; its record stays until another node needs the place, and
/// the node finds it again if it comes back before.
///
/// A process that changes a record waits for others that do so. Times are milliseconds since the epoch; where
/// the clock has been set back, a node of before that counts as present until then.
class NodeBoard {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// Nodes of all stores together, however much memory there is.
    static constexpr std::size_t most_nodes = 1024;

    /// Nodes that one store's servers name, and that are told.
    static constexpr std::size_t most_of_store = 128;

    /// Bytes of an address. One that is longer has no record.
    static constexpr std::size_t most_address = 124;

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
    struct Identity {
        std::uint64_t store;
        std::uint64_t shard;  ///< names the store and the shard
        std::uint64_t node;   ///< names the store, the shard and the address; not 0
    };

    struct Told {
        std::string address;
        bool primary = false;
        bool up = true;     ///< none of the workers asked for holds it for down
        Millis since = 0;   ///< when that last changed, for any worker
        bool gone = false;  ///< for told_for or longer

        /// How many microseconds its answers take, as the worker has it that told it last. None: it is down,
        /// or has not answered.
        std::optional<std::uint64_t> answer_time;
    };

    /// The place where note() has found a node.
    struct Noted {
        std::size_t place = none;
        bool is_new = false;  ///< it had no record, or was gone for told_for
        Names replaced{};     ///< the names that the place had for another node; 0: no more
    };

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. False: there
    /// is no room for one record.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept {
        return board_.use(memory, size, most_nodes, user) && places() != 0;
    }

    /// Bytes for so many records.
    static constexpr std::size_t bytes_for(std::size_t records) noexcept { return Nodes::bytes_for(records); }

    std::size_t places() const noexcept { return board_.places(); }

    /// The node is in use: finds its record, or makes it. A new one is a replica, is up, and has no names. No
    /// place: all are taken by nodes that were in use within kept_for, or the store has `most` of
    /// those, or the address is too long.
    Noted note(const Identity& node, std::string_view address, Millis now,
               std::size_t most = most_of_store) noexcept;

    /// The record of this node, or none. Gone nodes have one, too.
    std::size_t find(const Identity& node) const noexcept;

    /// Whether the record at that place is still this node's.
    bool has(std::size_t place, const Identity& node) const noexcept {
        return place < places() && board_.read<Identity>(place).node == node.node;
    }

    // These change nothing where the record is not the node's any more; the caller has seen it
    // just now.

    /// It is still in use.
    void see(std::size_t place, const Identity& node, Millis now) noexcept;
    void set_primary(std::size_t place, const Identity& node, bool primary) noexcept;

    /// Whether this worker takes it for up.
    void set_up(std::size_t place, const Identity& node, std::size_t worker, bool up, Millis now) noexcept;

    /// How many microseconds its answers take.
    void set_answer_time(std::size_t place, const Identity& node, std::uint64_t micros) noexcept;

    /// The names of the counters that it has from now on; 0: no more.
    void set_names(std::size_t place, const Identity& node, const Names& names) noexcept;

    /// A configuration begins, with workers of its own: to be called in the process that starts them. What
    /// workers of configurations before it say, some of which may still be leaving, does not count for it.
    void begin_configuration(Millis now) noexcept;

    /// A worker with this number begins: what one before it said of nodes does not count any more.
    void begin_worker(std::size_t worker, Millis now) noexcept;

    /// Reads the record of a node; `workers`: only what workers of lower numbers say counts. False: it has
    /// none any more. Throws std::bad_alloc.
    bool read(std::size_t place, const Identity& node, std::size_t workers, Millis now, Told& told) const;

    /// Calls fn(Told) for each node of the shard. Throws std::bad_alloc, and what fn throws.
    template <typename Fn>
    void for_each_of(const Identity& shard, std::size_t workers, Millis now, Fn&& fn) const {
        board_.for_each<Identity>([&](std::size_t place, const Identity& node) {
            Told told;
            if (node.shard == shard.shard && read(place, node, workers, now, told)) {
                fn(const_cast<const Told&>(told));
            }
        });
    }

    /// Calls fn(name) for each name of nodes that are not gone.
    template <typename Fn>
    void for_each_name(Millis now, Fn&& fn) const {
        board_.for_each([&](std::size_t /*place*/, const Record& record) {
            for (const std::uint64_t name : record.names) {
                if (name != 0 && !record.seen.is_gone(now)) {
                    fn(name);
                }
            }
        });
    }

    bool has_names(std::size_t place, const Identity& node) const noexcept {
        return has(place, node) && board_.read(place).names[0] != 0;
    }

    /// How many records have names.
    std::size_t named() const noexcept;

private:
    /// Those that hold a node for down.
    using Workers = std::bitset<most_workers>;

    /// The beginning of a record: whose it is, and when some worker last had the node.
    struct Seen {
        Identity node;
        Millis at;

        bool is_gone(Millis now) const noexcept { return now - at >= told_for; }
    };

    struct Record {
        Seen seen;
        Millis since;                 // when the node came up or went down
        std::array<Workers, 2> down;  // by workers of the configurations with even and odd numbers
        Names names;
        KeptText<most_address> address;
        std::optional<std::uint64_t> answer_time;
        bool primary;
    };

    /// The head says how many configurations have begun.
    using Nodes = Board<Record, std::atomic<std::uint64_t>>;

    std::size_t told_of(std::uint64_t store, Millis now) const noexcept;
    std::size_t place_for(std::uint64_t store, Millis now, std::size_t most) const noexcept;
    template <typename Fn>
    void change(std::size_t place, const Identity& node, Fn&& fn) noexcept;

    Nodes board_;
    std::uint64_t generation_ = 0;  // the configuration whose process this is
};

}  // namespace rate_limit
