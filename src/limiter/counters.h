#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/counts/counter_table.h"
#include "redis/keys/shard_choice.h"

namespace rate_limit {

/// Whose counters they are.
struct Subject {
    std::string_view store;
    std::string_view shard;
    std::string_view node;  ///< its address as configured; empty: the shard itself
};

/// Describes the counters that the enum `Kind` lists: a specialisation beside the enum gives them a `name`
/// and the `count` of kinds. A new counter is a new enumerator.
template <typename Kind>
struct CountersOf;

/// The counters of one subject, of all workers since the zone was made, over reloads. Where the zone has no
/// room for them, what is counted here counts for a subject called "*", together with others like it.
template <typename Kind>
class Counters {
    static constexpr std::size_t size = CounterTable::group_size;
    static constexpr std::size_t groups = (CountersOf<Kind>::count + size - 1) / size;

public:
    Counters(CounterTable& table, const Subject& subject) noexcept
        : Counters(table, subject, std::make_index_sequence<groups>()) {}

    /// The subject that counts for all subjects without a place in the zone.
    static Subject others() noexcept { return {"*", "*", {}}; }

    /// Calls fn(CounterTable::Name) for each group that the subject needs: so many names.
    static constexpr std::size_t names = groups;
    template <typename Fn>
    static void for_each_name(const Subject& subject, Fn&& fn) {
        for (std::size_t group = 0; group < groups; ++group) {
            fn(name_of(subject, group));
        }
    }

    void add(Kind kind, std::uint64_t more = 1) noexcept {
        groups_[index(kind) / size].add(index(kind) % size, more);
    }

    /// Adds one to each of two kinds, both among the first CounterTable::group_size.
    void add_both(Kind one, Kind other) noexcept { groups_[0].add_both(index(one), index(other)); }

    /// The count; where has_place() is false, that of others().
    std::uint64_t count(Kind kind) const noexcept {
        return groups_[index(kind) / size].count(index(kind) % size);
    }

    // Misses are of the subject, not of a kind. See CounterTable::Group.
    void miss(bool again) noexcept { groups_[0].miss(again); }
    void hit() noexcept { groups_[0].hit(); }
    std::uint64_t own_misses() const noexcept { return groups_[0].has_place() ? groups_[0].misses() : 0; }
    std::uint32_t misses_in_a_row() const noexcept { return groups_[0].misses_in_a_row(); }

    /// The count of this subject alone; 0 where has_place() is false.
    std::uint64_t own_count(Kind kind) const noexcept { return has_place(kind) ? count(kind) : 0; }

    /// False: what is counted of this kind counts for others().
    bool has_place(Kind kind) const noexcept { return groups_[index(kind) / size].has_place(); }

    /// Nothing is counted for others().
    bool is_whole() const noexcept {
        return std::all_of(groups_.begin(), groups_.end(),
                           [](const auto& group) { return group.has_place(); });
    }

    /// See CounterTable::Group::tell().
    bool tell(std::uint64_t digest) noexcept { return groups_[0].tell(digest); }

private:
    template <std::size_t... group>
    Counters(CounterTable& table, const Subject& subject, std::index_sequence<group...>) noexcept
        : groups_{CounterTable::Group(table, name_of(subject, group), name_of(others(), group))...} {}

    /// The name in the zone: of one `group` of eight.
    static CounterTable::Name name_of(const Subject& subject, std::size_t group) noexcept {
        std::uint64_t digest = group;
        for (const std::string_view word :
             {CountersOf<Kind>::name, subject.store, subject.shard, subject.node}) {
            digest = xxh64(word, digest);
        }
        return CounterTable::Name(digest);
    }
    static constexpr std::size_t index(Kind kind) noexcept { return static_cast<std::size_t>(kind); }

    std::array<CounterTable::Group, groups> groups_;
};

}  // namespace rate_limit
