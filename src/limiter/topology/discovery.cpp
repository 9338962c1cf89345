#include "limiter/topology/discovery.h"

#include <algorithm>
#include <string>
#include <utility>

#include "limiter/store_conf.h"
#include "limiter/topology/cluster_map.h"
#include "limiter/topology/sentinels.h"

namespace rate_limit {

namespace {

// All in milliseconds.

/// How long a turn lasts if its worker does not renew it: so long nobody asks after that worker's death,
/// unless another worker finds it dead.
constexpr std::uint32_t turn_length = 2000;

/// How often the worker that has the turn looks for hints of others.
constexpr Millis hint_interval = 100;

/// How often the others look for what was published, and whether the turn is free. Requests look, too.
constexpr Msec follow_interval = 200;

constexpr Pace sentinel_pace = {500, 20, 100, 500};
/// While a cluster replaces a primary, nothing says when it is done, and no reservation finds the new one
/// before the map is asked for again: so the gap grows to one second and no further.
constexpr Pace cluster_pace = {15'000, 20, 100, 1000};

std::unique_ptr<TopologySource> source_of(const StoreConf& store, TopologySource::Owner& owner) {
    if (store.seeds.empty()) {
        return std::make_unique<Sentinels>(store, owner);
    }
    return std::make_unique<ClusterMap>(store, owner);
}

}  // namespace

Discovery::Discovery(const StoreConf& store, Owner& owner)
    : store_(store),
      owner_(owner),
      shared_(*store.topology),
      source_(source_of(store, *this)),
      gate_(store.seeds.empty() ? sentinel_pace : cluster_pace) {
    shared_.set_user(lock_user());
    timer_.set(1);
}

void Discovery::tick() noexcept {
    follow();
    if (!shared_.take_turn(ticks_now(), turn_length)) {
        stop_asking();
        timer_.set(follow_interval + static_cast<Msec>(random_bits()) % (follow_interval / 4));
        return;
    }
    const auto now = static_cast<Millis>(msec_now());
    if (!asks_ || hints_ != shared_.hints()) {
        mend();
        asks_ = true;
        hints_ = shared_.hints();
        gate_.hint();
    }
    const auto noise = random_bits();
    if (gate_.next(now, noise) == 0) {
        const bool doubted = gate_.hinted();
        gate_.refreshed(changed_, now);
        changed_ = false;
        source_->ask(known_, doubted);
    }
    const Millis wait = gate_.next(now, noise);
    timer_.set(static_cast<Msec>(std::clamp<Millis>(wait, 1, hint_interval)));
}

/// Another worker asks.
void Discovery::stop_asking() noexcept {
    if (asks_) {
        asks_ = false;
        source_->hang_up();
    }
}

/// A worker that died while it published has left nothing that others, who start now, could read.
void Discovery::mend() noexcept {
    try {
        std::string bytes;
        std::uint64_t generation = 0;
        if (!known_.groups.empty() && !shared_.read(bytes, generation)) {
            shared_.publish(encode(known_));
        }
    } catch (...) {
        // without memory: what the sentinels say next is published
    }
}

bool Discovery::on_found(const Topology& topology) noexcept {
    try {
        switch (shared_.publish(encode(topology))) {
            case SharedTopology::Publication::done:
                changed_ = true;
                too_large_ = false;
                follow();
                return true;
            case SharedTopology::Publication::no_turn:
                // This worker was stopped for longer than its turn, and has just read old answers.
                stop_asking_.set_to_end_of_turn();
                break;
            case SharedTopology::Publication::no_room:
                if (!std::exchange(too_large_, true)) {
                    log_line(process_log(), LogLevel::error,
                             "rate limit: \"%s\" has too many servers for the memory that workers share: its "
                             "last topology holds",
                             store_.name.c_str());
                }
                break;
        }
    } catch (...) {
        // without memory: the next round finds it again
    }
    return false;
}

void Discovery::take_up() noexcept {
    try {
        std::string bytes;
        std::uint64_t generation = 0;
        Topology topology;
        if (shared_.read(bytes, generation) && decode(bytes, topology)) {
            known_ = std::move(topology);
            owner_.on_topology(known_);
        }
        seen_ = generation;
    } catch (...) {
        // without memory: the next call tries again
    }
}

void Discovery::shut_down() noexcept {
    timer_.clear();
    stop_asking_.clear();
    source_->shut_down();
    shared_.leave_turn();
}

}  // namespace rate_limit
