#pragma once

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
    Place* next_ = nullptr;
    Place* before_ = nullptr;
};

/// Elements in the order in which they came, linked through their Place. It owns none of them.
template <typename Element>
class Queue {
public:
    Queue() noexcept { clear(); }
    ~Queue() = default;
    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;

    bool empty() const noexcept { return head_.next_ == &head_; }

    /// It is not empty.
    Element& front() const noexcept { return static_cast<Element&>(*head_.next_); }

    /// Null at the end.
    Element* first() const noexcept { return element(head_.next_); }
    Element* after(const Element& element_before) const noexcept {
        return element(place(element_before).next_);
    }

    void push(Element& element) noexcept {
        Link& link = place(element);
        link.before_ = head_.before_;
        link.next_ = &head_;
        head_.before_->next_ = &link;
        head_.before_ = &link;
    }

    /// Takes it out of whichever queue it stands in.
    static void remove(Element& element) noexcept {
        Link& link = place(element);
        link.next_->before_ = link.before_;
        link.before_->next_ = link.next_;
    }

    Element& pop() noexcept {
        Element& first = front();
        remove(first);
        return first;
    }

    /// Moves all of them here, behind those that are here.
    void take_all(Queue& from) noexcept { take_all_before(nullptr, from); }

    /// Moves all of them here, in front of `next`, which stands here; behind all others if that is null.
    void take_all_before(Element* next, Queue& from) noexcept {
        if (from.empty()) {
            return;
        }
        Link& end = next != nullptr ? place(*next) : head_;
        from.head_.next_->before_ = end.before_;
        end.before_->next_ = from.head_.next_;
        from.head_.before_->next_ = &end;
        end.before_ = from.head_.before_;
        from.clear();
    }

private:
    using Link = Place<Element>;
    struct Head : Link {};

    static Link& place(Element& element) noexcept { return element; }
    static const Link& place(const Element& element) noexcept { return element; }
    Element* element(Link* link) const noexcept {
        return link != &head_ ? &static_cast<Element&>(*link) : nullptr;
    }
    void clear() noexcept { head_.next_ = head_.before_ = &head_; }

    Head head_;  // its own neighbours are the last and the first
};

}  // namespace rate_limit
