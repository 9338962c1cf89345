#pragma once

#include <memory>
#include <vector>

namespace rate_limit {

/// Objects that are used again instead of freed: once enough have been made, nothing is allocated. The list
/// owns all of them, also those that are in use; nobody may use them after the list is destroyed.
template <typename Object>
class FreeList {
public:
    /// The one that all of this process use.
    static FreeList& common() noexcept {
        static FreeList list;
        return list;
    }

    /// A free object, or a new one. Throws std::bad_alloc.
    Object& take() {
        if (free_.empty()) {
            free_.reserve(all_.size() + 1);  // so that put_back() never allocates
            all_.push_back(std::make_unique<Object>());
            return *all_.back();
        }
        Object& object = *free_.back();
        free_.pop_back();
        return object;
    }

    /// Makes an object free that take() returned.
    void put_back(Object& object) noexcept { free_.push_back(&object); }

private:
    std::vector<std::unique_ptr<Object>> all_;
    std::vector<Object*> free_;
};

}  // namespace rate_limit
