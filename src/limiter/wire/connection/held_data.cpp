#include "limiter/wire/connection/held_data.h"

#include <algorithm>

namespace rate_limit {

void HeldData::tell(std::string_view id) noexcept {
    forget();
    if (id.size() != id_.size()) {
        return;
    }
    std::copy(id.begin(), id.end(), id_.begin());
    next_ = first();
    first() = this;
    told_ = true;
    while (HeldData* const other = told_ ? same_elsewhere() : nullptr) {
        if (store_.home == nullptr) {
            other->lose_to(*this);
        } else {
            lose_to(*other);
        }
    }
}

void HeldData::forget() noexcept {
    if (!told_) {
        return;
    }
    HeldData** link = &first();
    while (*link != this) {
        link = &(*link)->next_;
    }
    *link = next_;
    told_ = false;
}

HeldData* HeldData::same_elsewhere() const noexcept {
    HeldData* other = first();
    while (other != nullptr && (&other->store_ == &store_ || other->id_ != id_)) {
        other = other->next_;
    }
    return other;
}

void HeldData::lose_to(const HeldData& other) noexcept {
    forget();
    owner_.on_same_data(other.subject_);
}

}  // namespace rate_limit
