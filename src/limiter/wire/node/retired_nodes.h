#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "limiter/loop.h"
#include "limiter/wire/node/node.h"

namespace rate_limit {

inline Node& node_of(Node& node) noexcept {
    return node;
}

template <typename Owned>
Node& node_of(Owned& owned) noexcept {
    return owned.node;
}

/// Nodes for which their owner has no use any more, until nothing is left of their connections. An Owned is a
/// node, or has a `node` and what that calls until then.
template <typename Owned>
class RetiredNodes {
public:
    RetiredNodes() = default;
    RetiredNodes(const RetiredNodes&) = delete;
    RetiredNodes& operator=(const RetiredNodes&) = delete;

    /// Makes room for so many more. Throws std::bad_alloc.
    void reserve(std::size_t more) { all_.reserve(all_.size() + more); }

    /// Keeps it; the caller retires it by retire_from(). Throws std::bad_alloc where reserve() has made no
    /// room: it is still the caller's then.
    void keep(std::unique_ptr<Owned>&& owned) { all_.push_back(std::move(owned)); }

    std::size_t size() const noexcept { return all_.size(); }

    /// Retires those that came when size() was `first` or more. What they give back may bring more here.
    void retire_from(std::size_t first) noexcept {
        for (std::size_t i = first; i < all_.size(); ++i) {
            node_of(*all_[i]).retire();
        }
    }

    /// To be called from Node::Listener::on_end(): the node is still at work, so it is destroyed later.
    void on_end() noexcept { ends_.set_to_end_of_turn(); }

    /// Calls fn(Node&) for each; it may bring more here.
    template <typename Fn>
    void for_each(Fn&& fn) {
        std::size_t next = 0;
        while (next < all_.size()) {
            fn(node_of(*all_[next++]));
        }
    }

private:
    void destroy_ended() noexcept {
        const auto ended = [](const std::unique_ptr<Owned>& owned) { return node_of(*owned).at_end(); };
        all_.erase(std::remove_if(all_.begin(), all_.end(), ended), all_.end());
    }

    std::vector<std::unique_ptr<Owned>> all_;
    Timer ends_{this, [](void* self) noexcept { static_cast<RetiredNodes*>(self)->destroy_ended(); },
                Timer::Worker::leaves};
};

}  // namespace rate_limit
