#include "limiter/charges/replicas.h"

#include <algorithm>
#include <optional>

#include "core/nearness.h"
#include "limiter/turn_clock.h"

namespace rate_limit {

namespace {

constexpr std::uint64_t second = 1'000'000;  // in microseconds, as TurnClock has them
constexpr std::uint64_t never = ~std::uint64_t{0};

bool was_asked(const Node& node, const Node* const* asked, std::size_t count) noexcept {
    return count != 0 && std::find(asked, asked + count, &node) != asked + count;
}

}  // namespace

Node* least_loaded(const std::vector<Node*>& nodes, Fitness least, std::size_t turn, const Node* const* asked,
                   std::size_t count) noexcept {
    Node* best = nullptr;
    std::size_t at = nodes.size() > 1 ? turn % nodes.size() : 0;
    for (std::size_t left = nodes.size(); left != 0; --left) {
        Node& node = *nodes[at];
        at = at + 1 == nodes.size() ? 0 : at + 1;
        const bool fit = least == Fitness::ready ? node.ready() : node.usable();
        const bool answers = least == Fitness::even_refusing || node.answers_reads();
        if (!fit || !answers || was_asked(node, asked, count)) {
            continue;
        }
        if (node.gathers()) {
            return &node;
        }
        if (best == nullptr || node.load() < best->load()) {
            best = &node;
        }
    }
    return best;
}

Node* Replicas::choose(std::size_t turn, const Node* const* asked, std::size_t count) noexcept {
    if (read_from_ == StoreConf::ReadFrom::spread || all_.size() < 2) {
        return least_loaded(all_, Fitness::usable, turn, asked, count);
    }
    const std::uint64_t now = TurnClock::micros();
    if (!is_found_ || now - found_ >= second) {
        find_near(now);
    }
    look_at_far(now);
    Node* node = least_loaded(near_, Fitness::ready, turn, asked, count);
    node = node != nullptr ? node : least_loaded(near_, Fitness::usable, turn, asked, count);
    return node != nullptr && std::max(node->takes(now).value_or(0), node->keeps_waiting(now)) <= near_bound_
               ? node
               : choose_quickest(turn, asked, count, now);
}

/// Those that have not answered yet count last. Of equals it is the one with the least load.
Node* Replicas::choose_quickest(std::size_t turn, const Node* const* asked, std::size_t count,
                                std::uint64_t now) const noexcept {
    Node* best = nullptr;
    std::uint64_t best_takes = 0;
    for (std::size_t i = 0; i < all_.size(); ++i) {
        Node& node = *all_[(turn + i) % all_.size()];
        const std::uint64_t takes = node.takes(now).value_or(never);
        const bool fit = node.usable() && node.answers_reads() && !was_asked(node, asked, count);
        const bool quicker =
            best == nullptr || takes < best_takes || (takes == best_takes && node.load() < best->load());
        if (fit && quicker) {
            best = &node;
            best_takes = takes;
        }
    }
    return best;
}

/// All are near where none has answered yet; else those that have: nobody waits for a connection where
/// another node is connected. One that is connected and has not answered yet will in a moment.
void Replicas::find_near(std::uint64_t now) noexcept {
    std::uint64_t best = never;
    for (const Node* node : all_) {
        const bool fit = node->usable() && node->answers_reads();
        best = fit ? std::min(best, node->answer_time().smoothed().value_or(never)) : best;
    }
    near_bound_ = best == never ? never : still_near(best);
    near_.clear();
    is_found_ = true;
    for (Node* node : all_) {
        is_found_ = is_found_ && (!node->ready() || node->answer_time().smoothed());
        if (node->answer_time().smoothed().value_or(never) <= near_bound_) {
            near_.push_back(node);
        }
    }
    found_ = now;
}

bool Replicas::is_near(const Node& node) const noexcept {
    return std::find(near_.begin(), near_.end(), &node) != near_.end();
}

/// The one that was measured longest ago; also a near one without a connection, which no read would make.
void Replicas::look_at_far(std::uint64_t now) noexcept {
    constexpr unsigned reads_a_look = 100;
    if (++reads_ < reads_a_look || now - looked_ < second) {
        return;
    }
    reads_ = 0;
    looked_ = now;
    Node* oldest = nullptr;
    for (Node* node : all_) {
        const bool older = oldest == nullptr || node->answer_time().added() < oldest->answer_time().added();
        oldest = older && node->usable() && (!is_near(*node) || node->idle()) ? node : oldest;
    }
    if (oldest != nullptr) {
        oldest->look();
    }
}

}  // namespace rate_limit
