#pragma once

#include <memory>
#include <vector>

namespace rate_limit {

/// Objects that are used again instead of freed: no allocation once enough have been made. Owns all of them,
/// also those that are taken; they must not be used after it is gone.
template <typename Object>
class FreeList {
public:
    /// Throws std::bad_alloc.
    Object& take() {
        if (free_.empty()) {
            free_.reserve(all_.size() + 1);  // giving back must not allocate
            all_.push_back(std::make_unique<Object>());
            return *all_.back();
        }
        Object& object = *free_.back();
        free_.pop_back();
        return object;
    }

    void give_back(Object& object) noexcept { free_.push_back(&object); }

private:
    std::vector<std::unique_ptr<Object>> all_;
    std::vector<Object*> free_;
};

}  // namespace rate_limit
