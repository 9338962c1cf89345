#pragma once

#include <cstddef>
#include <vector>

#include "core/table/window_id.h"

namespace rate_limit {

/// A first-in-first-out queue whose items are also found by the id of their window. The links run through the
/// items: an Item derives from KeyedQueue<Item>::Link and has `WindowId id() const noexcept`. Items belong to
/// the caller and stay where they are while they are queued.
template <typename Item>
class KeyedQueue {
public:
    class Link {
        friend class KeyedQueue;
        Item* next_ = nullptr;  // in the queue
        Item* before_ = nullptr;
        Item* in_bucket_ = nullptr;  // the next that has the same bucket
    };

    bool empty() const noexcept { return head_ == nullptr; }
    std::size_t size() const noexcept { return size_; }

    /// A queued item of this id that `fits`, or null.
    template <typename Fits>
    Item* find(const WindowId& id, Fits&& fits) const noexcept {
        for (Item* item = size_ != 0 ? buckets_[bucket_of(id)] : nullptr; item != nullptr;
             item = link(*item).in_bucket_) {
            if (item->id() == id && fits(*item)) {
                return item;
            }
        }
        return nullptr;
    }

    /// Throws std::bad_alloc, and then the item is not queued.
    void push(Item& item) {
        if (size_ == buckets_.size()) {
            grow();
        }
        link(item).next_ = nullptr;
        link(item).before_ = tail_;
        (tail_ != nullptr ? link(*tail_).next_ : head_) = &item;
        tail_ = &item;
        ++size_;
        chain(item);
    }

    /// Takes out the item that has been queued for longest; null: there is none.
    Item* pop() noexcept { return head_ != nullptr ? unlink(*head_) : nullptr; }

    /// Takes out the item with this id that has been queued for longest; null: there is none.
    Item* take(const WindowId& id) noexcept {
        Item* oldest = nullptr;
        find(id, [&oldest](Item& item) {
            oldest = &item;  // a bucket begins with its newest item
            return false;
        });
        return oldest != nullptr ? unlink(*oldest) : nullptr;
    }

private:
    static constexpr std::size_t least_buckets = 64;

    static Link& link(Item& item) noexcept { return item; }

    /// Ids are digests: any of their bits will do.
    std::size_t bucket_of(const WindowId& id) const noexcept { return id.low & (buckets_.size() - 1); }

    Item* unlink(Item& item) noexcept {
        const Link& of = link(item);
        (of.before_ != nullptr ? link(*of.before_).next_ : head_) = of.next_;
        (of.next_ != nullptr ? link(*of.next_).before_ : tail_) = of.before_;
        --size_;
        Item** at = &buckets_[bucket_of(item.id())];
        while (*at != &item) {
            at = &link(**at).in_bucket_;
        }
        *at = of.in_bucket_;
        return &item;
    }

    void chain(Item& item) noexcept {
        Item*& bucket = buckets_[bucket_of(item.id())];
        link(item).in_bucket_ = bucket;
        bucket = &item;
    }

    void grow() {
        buckets_ = std::vector<Item*>(buckets_.empty() ? least_buckets : 2 * buckets_.size());
        for (Item* item = head_; item != nullptr; item = link(*item).next_) {
            chain(*item);
        }
    }

    Item* head_ = nullptr;
    Item* tail_ = nullptr;
    std::size_t size_ = 0;
    std::vector<Item*> buckets_;  // a power of two of them
};

}  // namespace rate_limit
