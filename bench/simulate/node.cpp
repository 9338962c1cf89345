#include "bench/simulate/node.h"

#include <algorithm>

#include "bench/simulate/link.h"

namespace rate_limit::simulated {

namespace {

/// Nanoseconds of a server's processor, pipelined: docs/benchmarks.md has them.
Nanos cost_of(const Message& message) noexcept {
    switch (message.command) {
        case Command::check:
            return 1300;
        case Command::increment:
            return 1400;
        case Command::refund:
            return message.numbered.number != 0 ? 6700 : 5200;
        case Command::reserve:
            return message.wanted.call.number != 0 ? 9200 : 6800;
        default:
            return 4800;
    }
}

}  // namespace

Shard::Shard(const Setup& setup, bool journal) : setup_(setup) {
    primary_.lead(journal ? &journal_ : nullptr);
    replica_.follow_from(0);
}

Micros Shard::execute(Message& message, Micros now, Random& random, Measures& measures) {
    const bool replica = message.link->is_replica();
    measures.called(message.key, message.command, replica, now / 1000);
    if (replica) {
        read_replica(message, now, random);
    } else {
        write(message, now);
        count(message, now, measures);
    }
    Side& side = sides_[replica ? 1 : 0];
    const Nanos cost = cost_of(message);
    side.free_at = std::max(side.free_at, now) + (cost + 999) / 1000;
    side.busy += cost;
    return side.free_at;
}

void Shard::read_replica(Message& message, Micros now, Random& random) {
    const bool is_cut = now >= cut_from_ && now < cut_until_;
    replica_.follow(journal_, std::min(now - draw(setup_.lag, random), is_cut ? cut_from_ : now));
    journal_.forget_before(replica_.position());
    message.window = window_of(replica_.check(message.key, now).value);
}

void Shard::write(Message& message, Micros now) {
    const Key key = message.key;
    switch (message.command) {
        case Command::check:
            message.window = window_of(primary_.check(key, now).value);
            break;
        case Command::increment:
            message.window.used = primary_.increment(key, now, message.cost).value;
            break;
        case Command::charge:
            message.window = primary_.charge(key, now, message.opening, message.cost).value;
            break;
        case Command::repair:
            message.window = primary_.repair(key, now, message.opening).value;
            break;
        case Command::refund:
            message.window = primary_.refund(key, now, message.cost, message.reset, message.numbered).value;
            break;
        default: {
            const Reserved reserved = primary_.reserve(key, now, message.opening, message.wanted).value;
            message.granted = reserved.granted;
            message.window = reserved.window;
        }
    }
}

/// Each request is charged once: charges show what ways that are not exact have admitted.
void Shard::count(const Message& message, Micros now, Measures& measures) {
    if (message.command != Command::increment && message.command != Command::charge) {
        return;
    }
    measures.charged(message.key, window_of(primary_.check(message.key, now).value).reset, message.cost, now);
}

}  // namespace rate_limit::simulated
