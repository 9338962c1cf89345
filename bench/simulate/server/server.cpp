#include "bench/simulate/server/server.h"

#include <limits>
#include <numeric>
#include <utility>

namespace rate_limit::simulated {

Window window_of(const StoredWindow& stored) noexcept {
    const std::int64_t* used = stored.used.number();
    const std::int64_t* reset = stored.reset.number();
    const bool sound =
        reset != nullptr && *reset >= 0 && (stored.used ? used != nullptr && *used >= 0 : true);
    return sound ? Window{used != nullptr ? *used : 0, *reset} : Window{};
}

Drawn drawn_of(const BucketAnswer& answer, Millis now) noexcept {
    Drawn drawn;
    drawn.taken = answer.taken;
    drawn.bucket = full_after(answer.missing, now);
    drawn.told = answer.time * 1000;
    drawn.returned = static_cast<std::uint64_t>(answer.high) << 32 | static_cast<std::uint64_t>(answer.low);
    drawn.receipt = receipt_of({drawn.told, drawn.told, 0}, answer.missing, drawn.returned);
    return drawn;
}

template <typename Answer>
auto Server::run(KeyId key, Micros clock, Answer answer)
    -> Answered<decltype(answer(std::declval<Call&>()))> {
    Answered<decltype(answer(std::declval<Call&>()))> answered;
    Call call(keys_, key, clock, !replica_);
    try {
        answered.value = answer(call);
        answered.replaced = call.replaced();
    } catch (const Raised& raised) {
        answered.fault = raised.fault;
    }
    if (call.wrote() && !replica_ && journal_ != nullptr) {
        journal_->add(clock, key, call.value());
    }
    return answered;
}

template <typename Change>
Fault Server::change(KeyId key, Micros clock, Change change) {
    const auto answer = [&change](Call& call) {
        change(call);
        return true;
    };
    return run(key, clock, answer).fault;
}

void Server::lead(Journal* journal) noexcept {
    journal_ = journal;
    replica_ = false;
}

void Server::follow_from(std::uint64_t position) noexcept {
    journal_ = nullptr;
    replica_ = true;
    position_ = position;
}

void Server::follow(const Journal& journal, Micros until) {
    for (; position_ < journal.end() && journal.at(position_).at <= until; ++position_) {
        const Write& write = journal.at(position_);
        if (write.left.there()) {
            keys_.make(write.key, until / 1000) = write.left;
        } else {
            keys_.erase(write.key);
        }
    }
}

Answered<StoredWindow> Server::check(KeyId key, Micros clock) {
    count(Command::check);
    return run(key, clock, [](Call& call) {
        const Hash* fields = call.hash();
        return fields != nullptr ? StoredWindow{fields->used, fields->reset} : StoredWindow{};
    });
}

Answered<std::int64_t> Server::increment(KeyId key, Micros clock, std::int64_t cost) {
    count(Command::increment);
    return run(key, clock, [cost](Call& call) { return call.hincrby_used(cost); });
}

Answered<Window> Server::charge(KeyId key, Micros clock, const Opening& opening, std::int64_t cost) {
    count(Command::charge);
    return run(key, clock, [&](Call& call) { return simulated::charge(call, opening, cost); });
}

Answered<Window> Server::repair(KeyId key, Micros clock, const Opening& opening) {
    count(Command::repair);
    return run(key, clock, [&](Call& call) { return simulated::repair(call, opening); });
}

Answered<Window> Server::refund(KeyId key, Micros clock, std::int64_t cost, Millis reset,
                                const Numbered& numbered, Emptied emptied) {
    count(Command::refund);
    return run(key, clock,
               [&](Call& call) { return simulated::refund(call, cost, reset, numbered, emptied); });
}

Answered<Reserved> Server::reserve(KeyId key, Micros clock, const Opening& opening, const Wanted& wanted) {
    count(Command::reserve);
    return run(key, clock, [&](Call& call) { return simulated::reserve(call, opening, wanted); });
}

Answered<BucketAnswer> Server::draw(KeyId key, Micros clock, const Draw& draw, Micros told) {
    count(Command::bucket);
    return run(key, clock, [&](Call& call) { return bucket(call, draw, told); });
}

Answered<Held> Server::hold(KeyId key, Micros clock, const Hold& hold, Micros told) {
    count(Command::hold);
    return run(key, clock, [&](Call& call) { return simulated::hold(call, hold, told); });
}

Answered<Taken> Server::take(KeyId key, Micros clock, Nanos now, Nanos cost) {
    count(Command::take);
    return run(key, clock, [=](Call& call) {
        const std::int64_t before = call.bitfield_u63(-now);
        return Taken{before, call.bitfield_i64(now + cost, true)};
    });
}

Answered<Taken> Server::take_of_filling(KeyId key, Micros clock, Nanos cost) {
    count(Command::take_of_filling);
    return run(key, clock, [=](Call& call) { return Taken{0, call.bitfield_i64(cost, false)}; });
}

Fault Server::hset(KeyId key, Micros clock, std::string_view field, std::string_view text) {
    return change(key, clock, [=](Call& call) { call.hset(field, Text(text)); });
}

Fault Server::hdel(KeyId key, Micros clock, std::string_view field) {
    return change(key, clock, [=](Call& call) { call.hdel(field); });
}

Fault Server::set(KeyId key, Micros clock, std::string_view bytes) {
    return change(key, clock, [=](Call& call) { call.set(bytes); });
}

Fault Server::del(KeyId key, Micros clock) {
    return change(key, clock, [](Call& call) { call.del(); });
}

Fault Server::pexpire(KeyId key, Micros clock, Millis life) {
    return change(key, clock, [=](Call& call) { call.pexpire(life); });
}

Fault Server::persist(KeyId key, Micros clock) {
    return change(key, clock, [](Call& call) { call.persist(); });
}

const Value* Server::look(KeyId key, Micros clock) const noexcept {
    const Value* value = keys_.find(key);
    return value != nullptr && value->expires != Value::never && value->expires < clock / 1000 ? nullptr
                                                                                               : value;
}

Millis Server::pttl(KeyId key, Micros clock) const noexcept {
    const Value* value = look(key, clock);
    if (value == nullptr) {
        return -2;
    }
    return value->expires == Value::never ? -1 : value->expires - clock / 1000;
}

std::uint64_t Server::calls() const noexcept {
    return std::accumulate(calls_.begin(), calls_.end(), std::uint64_t{0});
}

}  // namespace rate_limit::simulated
