#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/topology/topology.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

/// The hash slot of a key, 0 to slot_count - 1, as CLUSTER KEYSLOT says it: of the text in the first pair of
/// braces, unless that is empty, else of the whole key.
std::uint16_t key_slot(std::string_view key) noexcept;

/// A part of a store that one primary serves at a time: a shard of the configuration, by its index, or a hash
/// slot of a cluster.
using Route = std::uint32_t;

/// The routes of one store, which of them holds a key, and how records in shared memory name each: by a
/// digest that holds no address, so that whatever server takes over finds what is for it. Constant once the
/// configuration is read.
class Routes {
public:
    /// `store` is its name.
    explicit Routes(std::string_view store = {}) noexcept;

    /// Adds a shard as ShardChoice::add() does; its name is copied as its digest, and its bytes outlive this
    /// object.
    void add_shard(std::string_view name, std::uint32_t weight);

    /// The routes are the slots of a cluster. No shard has been added.
    void use_slots() noexcept { slotted_ = true; }
    bool has_slots() const noexcept { return slotted_; }

    std::size_t size() const noexcept;

    /// The route of a window: `key` is the client's key as it reaches Redis, `window_key` the window's Redis
    /// key.
    Route choose(std::string_view key, std::string_view window_key) const noexcept;

    std::uint64_t digest_of(Route route) const noexcept { return slotted_ ? base_ | route : digests_[route]; }

    /// False: such a digest is not of this store.
    bool find(std::uint64_t digest, Route& route) const noexcept;

    /// The slots of a cluster are counted by `part_count` parts of them, of 1,024 each: so a primary that is
    /// away concerns few others. A bit for each.
    using Parts = std::uint16_t;
    static constexpr unsigned part_count = 16;
    static constexpr Parts all_parts = 0xffff;

    static constexpr Route first_of(unsigned part) noexcept { return part << part_bits; }

    /// By what a route is counted, of any store: slots of one part together.
    static constexpr std::uint64_t counted_as(std::uint64_t digest) noexcept {
        return digest & ~((std::uint64_t{1} << part_bits) - 1);
    }

private:
    static constexpr std::uint64_t slot_bits = 0x3fff;
    static constexpr unsigned part_bits = 10;

    std::uint64_t store_;  // digest of its name
    std::uint64_t base_;   // the upper bits of all digests of a cluster
    bool slotted_ = false;
    ShardChoice choice_;
    std::vector<std::uint64_t> digests_;  // one for each shard
};

}  // namespace rate_limit
