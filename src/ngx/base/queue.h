#pragma once

#include "ngx/base/ngx.h"

namespace rate_limit {

template <typename Element>
class Queue;

/// A base of whatever can stand in a Queue, in one at a time.
template <typename Element>
class Place {
protected:
    Place() = default;
    ~Place() = default;

private:
    friend class Queue<Element>;
    ngx_queue_t link_{};
};

/// Elements in the order in which they came, linked through their Place. It owns none of them.
template <typename Element>
class Queue {
public:
    Queue() noexcept { ngx_queue_init(&head_); }
    ~Queue() = default;
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    bool empty() const noexcept { return ngx_queue_empty(&head_); }

    /// It is not empty.
    Element& front() const noexcept { return at(head_.next); }

    /// Null at the end.
    Element* first() const noexcept { return element(head_.next); }
    Element* after(const Element& element_before) const noexcept {
        return element(static_cast<const Place<Element>&>(element_before).link_.next);
    }

    void push(Element& element) noexcept { ngx_queue_insert_tail(&head_, link_of(element)); }

    /// Takes it out of whichever queue it stands in.
    static void remove(Element& element) noexcept { ngx_queue_remove(link_of(element)); }

    Element& pop() noexcept {
        Element& first = front();
        remove(first);
        return first;
    }

    /// Moves all of them here, behind those that are here.
    void take_all(Queue& from) noexcept { take_all_before(nullptr, from); }

    /// Moves all of them here, in front of `next`, which stands here; behind all others if that is null.
    void take_all_before(Element* next, Queue& from) noexcept {
        if (!from.empty()) {
            ngx_queue_add(next != nullptr ? link_of(*next) : &head_, &from.head_);
            ngx_queue_init(&from.head_);
        }
    }

private:
    static ngx_queue_t* link_of(Element& element) noexcept {
        return &static_cast<Place<Element>&>(element).link_;
    }
    static Element& at(ngx_queue_t* link) noexcept {
        return static_cast<Element&>(*ngx_queue_data(link, Place<Element>, link_));
    }
    Element* element(ngx_queue_t* link) const noexcept {
        return link != ngx_queue_sentinel(&head_) ? &at(link) : nullptr;
    }

    ngx_queue_t head_;
};

}  // namespace rate_limit
