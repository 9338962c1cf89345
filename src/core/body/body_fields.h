#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/body/body_path.h"
#include "core/body/body_value.h"

namespace rate_limit {

/// Which values of a body are wanted: fields, each with its PATHs, the first of which counts before the
/// others.
class BodyFields {
public:
    /// Paths by their numbers, those of a field in their order.
    using Set = std::uint64_t;

    static constexpr std::size_t most_paths = 64;

    /// Adds a path to the field that was begun last. False: there is no room. Throws std::bad_alloc.
    bool add(const BodyPath& path);

    void begin_field() noexcept { ++fields_; }

    /// How many fields there are.
    std::size_t size() const noexcept { return fields_; }

    Set all() const noexcept { return all_; }

    /// Those of the set that end `depth` steps behind the root.
    Set ending(Set of, std::size_t depth) const noexcept {
        return depth < ending_.size() ? of & ending_[depth] : 0;
    }

    /// Those of the set that lead to the member, or element, behind `step` others.
    template <typename Next>
    Set leading(Set of, std::size_t step, Next next) const noexcept {
        Set found = 0;
        for (Set rest = of; rest != 0; rest &= rest - 1) {
            const auto number = static_cast<unsigned>(__builtin_ctzll(rest));
            found |= static_cast<Set>(paths_[number].path.leads_to(step, next)) << number;
        }
        return found;
    }

    /// Those of the set whose text has this byte at this place; behind their end they have none.
    Set with_byte(Set of, std::size_t at, char byte) const noexcept;

    /// Those of the set whose text ends at this place.
    Set of_length(Set of, std::size_t length) const noexcept;

    /// A value was found at the end of these paths. `values`: one for each field.
    void put(Set found, std::string_view text, BodyValue* values) const noexcept;

private:
    struct Path {
        BodyPath path;
        std::size_t field;
    };

    std::size_t fields_ = 0;
    Set all_ = 0;
    std::vector<Path> paths_;
    std::array<Set, BodyPath::most_names + 1> ending_{};  // by depth
};

}  // namespace rate_limit
