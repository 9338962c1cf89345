#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rate_limit {

/// The way from the root of a document to a value: names joined by dots. A number is an element of an array,
/// too, and `*` any name and any element. Of a form it is, whole, the name of a field.
class BodyPath {
public:
    static constexpr std::size_t most_names = 16;
    static constexpr std::size_t most_name = 64;  ///< in bytes

    /// Takes the text, which must outlive this. Null; or a static text that says what is wrong with it, and
    /// what to write.
    const char* parse(std::string_view text) noexcept;

    std::string_view text() const noexcept { return text_; }
    std::size_t size() const noexcept { return size_; }

    /// Whether the member of this name, or the element of this number, is on the way behind `step` others.
    bool leads_to(std::size_t step, std::string_view name) const noexcept {
        return step < size_ && (steps_[step].any || steps_[step].name == name);
    }
    bool leads_to(std::size_t step, std::uint64_t element) const noexcept {
        return step < size_ && (steps_[step].any || steps_[step].element == element);
    }

private:
    static constexpr std::uint64_t no_element = UINT64_MAX;

    struct Step {
        std::string_view name;
        std::uint64_t element = no_element;
        bool any = false;
    };

    static std::uint64_t element_of(std::string_view name) noexcept;

    std::string_view text_;
    std::size_t size_ = 0;
    std::array<Step, most_names> steps_;
};

}  // namespace rate_limit
