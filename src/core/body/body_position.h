#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/body/body_fields.h"

namespace rate_limit {

/// The place in a document where the reading is: how deep, and which paths lead to the value that comes next.
class BodyPosition {
public:
    static constexpr std::size_t most_depth = 64;  ///< objects and arrays in each other

    explicit BodyPosition(const BodyFields& fields) noexcept : fields_(fields), here_(fields.all()) {}

    /// A document begins.
    void begin() noexcept {
        depth_ = 0;
        here_ = fields_.all();
    }

    bool at_root() const noexcept { return depth_ == 0; }
    bool in_object() const noexcept { return (objects_ & 1U) != 0; }

    /// The next value is an object or an array, and what is in it comes next. False: it is too deep.
    bool open(bool object) noexcept {
        if (depth_ == most_depth) {
            return false;
        }
        ++depth_;
        objects_ = objects_ << 1U | static_cast<std::uint64_t>(object);
        if (depth_ < inside_.size()) {
            inside_[depth_] = here_;
            elements_[depth_] = 0;
        }
        if (!object) {
            find_element();
        }
        return true;
    }

    void close() noexcept {
        objects_ >>= 1U;
        --depth_;
    }

    /// Whether a path can lead on from the object or array at hand.
    bool leads_on() const noexcept { return inside() != 0; }

    /// The name of the member whose value comes next. Without a name it is one that no path has.
    void enter(std::string_view name) noexcept { here_ = fields_.leading(inside(), depth_ - 1, name); }

    /// The next element of an array comes.
    void enter_next() noexcept {
        if (leads_on()) {
            ++elements_[depth_];
        }
        find_element();
    }

    /// The paths that end at the value that comes next.
    BodyFields::Set ending() const noexcept { return here_ == 0 ? 0 : fields_.ending(here_, depth_); }

private:
    BodyFields::Set inside() const noexcept { return depth_ < inside_.size() ? inside_[depth_] : 0; }
    void find_element() noexcept {
        here_ = leads_on() ? fields_.leading(inside(), depth_ - 1, elements_[depth_]) : 0;
    }

    const BodyFields& fields_;
    std::size_t depth_ = 0;
    std::uint64_t objects_ = 0;  // a bit for each depth, the lowest of the innermost: an object, not an array
    BodyFields::Set here_;
    std::array<BodyFields::Set, BodyPath::most_names + 1> inside_{};  // by depth, as the next
    std::array<std::uint64_t, BodyPath::most_names + 1> elements_{};  // how many have come before
};

}  // namespace rate_limit
