#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "core/body/body_value.h"

namespace rate_limit {

/// The bytes of a text that comes in pieces, as far as anybody wants them. A text above the longest value is
/// none.
class KeptBytes {
public:
    void begin(bool wanted) noexcept {
        size_ = 0;
        room_ = wanted ? bytes_.size() : 0;
    }

    bool wanted() const noexcept { return room_ != 0; }
    bool empty() const noexcept { return size_ == 0; }

    void append(const char* from, std::size_t size) noexcept {
        if (size <= room_ - size_) {
            std::memcpy(bytes_.data() + size_, from, size);
            size_ += size;
        } else {
            size_ = room_ = 0;  // also one that nobody wants
        }
    }

    /// The bytes so far. Callers ask for them only while they are wanted.
    std::string_view text() const noexcept { return {bytes_.data(), size_}; }

private:
    std::size_t size_ = 0;
    std::size_t room_ = 0;  // 0: nothing more is kept of this text
    std::array<char, BodyValue::most> bytes_;
};

}  // namespace rate_limit
