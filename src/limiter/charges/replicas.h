#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "limiter/store_conf.h"
#include "limiter/wire/node/node.h"

namespace rate_limit {

enum class Fitness : unsigned char {
    even_refusing,  ///< usable, whether it answers reads or not
    usable,         ///< and answers reads
    ready,          ///< and is connected
};

/// The node to ask next, of those that are as fit as that and were not yet `asked`: one that was given a
/// command in this turn of the loop, as one more costs no write there; else the one with the least load, the
/// first from `turn` on among equals; null: there is none.
Node* least_loaded(const std::vector<Node*>& nodes, Fitness least, std::size_t turn, const Node* const* asked,
                   std::size_t count) noexcept;

/// The replicas of one shard that are read from, and which of them are near this machine.
///
/// Reads go to those that answer about as quickly as the quickest. Others are read from where these do not
/// serve, or are silent for longer than another would take. Which ones are near is found anew once a second,
/// and whenever a node comes or fails; now and then it is measured how far the others are.
class Replicas {
public:
    explicit Replicas(StoreConf::ReadFrom read_from) noexcept : read_from_(read_from) {}

    /// Makes room for so many. Throws std::bad_alloc.
    void reserve(std::size_t count) {
        all_.reserve(count);
        near_.reserve(count);
    }

    /// There is room for it. It outlives this, or what replaces this.
    void add(Node& node) noexcept { all_.push_back(&node); }

    /// Calls fn(Node&) for each.
    template <typename Fn>
    void for_each(Fn&& fn) {
        for (Node* node : all_) {
            fn(*node);
        }
    }

    /// A node has become usable, or is so no longer.
    void find_near_again() noexcept { is_found_ = false; }

    /// A usable replica not yet `asked`, or null: of the near ones the least_loaded(), those that are
    /// connected first; else the quickest.
    Node* choose(std::size_t turn, const Node* const* asked, std::size_t count) noexcept;

    /// A usable one not yet `asked`, whether it answers reads or not: the least_loaded(). Null: there is
    /// none.
    Node* choose_despite_refusal(std::size_t turn, const Node* const* asked,
                                 std::size_t count) const noexcept {
        return least_loaded(all_, Fitness::even_refusing, turn, asked, count);
    }

private:
    Node* choose_quickest(std::size_t turn, const Node* const* asked, std::size_t count,
                          std::uint64_t now) const noexcept;
    void find_near(std::uint64_t now) noexcept;
    void look_at_far(std::uint64_t now) noexcept;
    bool is_near(const Node& node) const noexcept;

    StoreConf::ReadFrom read_from_;
    std::vector<Node*> all_;
    std::vector<Node*> near_;       // has room for all
    std::uint64_t near_bound_ = 0;  // the longest time of a near one, in microseconds
    std::uint64_t found_ = 0;       // when near_ was, by TurnClock
    bool is_found_ = false;
    std::uint64_t looked_ = 0;  // when a far one was looked at, by TurnClock
    unsigned reads_ = 0;        // since then
};

}  // namespace rate_limit
