#include "bench/simulate/server/call.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace rate_limit::simulated {
namespace {

using Limits = std::numeric_limits<std::int64_t>;

bool has_room(std::int64_t number, std::int64_t by) noexcept {
    return by < 0 ? number >= Limits::min() - by : number <= Limits::max() - by;
}

}  // namespace

Call::Call(Keyspace& keys, KeyId key, Micros clock, bool may_write) noexcept
    : keys_(keys), key_(key), clock_(clock), value_(keys.find(key)), may_write_(may_write) {
    if (value_ != nullptr && value_->expires != Value::never && value_->expires < now()) {
        erase();
    }
}

const Hash* Call::hash() const {
    if (is_string()) {
        throw Raised{Fault::wrongtype};
    }
    return value_ != nullptr ? std::get_if<Hash>(&value_->content) : nullptr;
}

bool Call::is_hash() const noexcept {
    return value_ != nullptr && std::holds_alternative<Hash>(value_->content);
}

bool Call::is_string() const noexcept {
    return value_ != nullptr && !is_hash();
}

void Call::write() {
    if (!may_write_) {
        throw Raised{Fault::readonly};
    }
    wrote_ = true;
}

Hash& Call::made_hash() {
    write();
    if (is_string()) {
        throw Raised{Fault::wrongtype};
    }
    if (value_ == nullptr) {
        value_ = &keys_.make(key_, now());
        value_->content = Hash{};
    }
    return std::get<Hash>(value_->content);
}

Value& Call::made_string() {
    write();
    if (is_hash()) {
        throw Raised{Fault::wrongtype};
    }
    if (value_ == nullptr) {
        value_ = &keys_.make(key_, now());
    }
    return *value_;
}

void Call::erase() noexcept {
    keys_.erase(key_);
    value_ = nullptr;
    wrote_ = true;
}

void Call::hset(std::string_view field, Text text) {
    made_hash().set(field, std::move(text));
}

void Call::hset_used(Text text) {
    made_hash().used = std::move(text);
}

void Call::hset_reset(Text text) {
    made_hash().reset = std::move(text);
}

void Call::hdel(std::string_view field) {
    write();
    if (hash() == nullptr) {
        return;
    }
    Hash& found = std::get<Hash>(value_->content);
    found.erase(field);
    if (found.size() == 0) {
        erase();
    }
}

std::int64_t Call::hincrby_used(std::int64_t by) {
    write();
    const Hash* found = hash();
    std::int64_t count = 0;
    if (found != nullptr && found->used) {
        const std::int64_t* number = found->used.number();
        if (number == nullptr || !has_room(*number, by)) {
            throw Raised{Fault::other};
        }
        count = *number;
    }
    made_hash().used = Text(count + by);
    return count + by;
}

void Call::set(std::string_view bytes) {
    write();
    value_ = &keys_.make(key_, now());
    value_->expires = Value::never;
    set_bytes(*value_, bytes);
}

void Call::set_px(const BucketBytes& bucket, Millis life) {
    write();
    replaced_ = is_hash();
    value_ = &keys_.make(key_, now());
    value_->expires = now() + life;
    value_->content = bucket;
}

std::int64_t Call::bitfield_u63(std::int64_t by) {
    Value& value = made_string();
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    const std::uint64_t word = first_word(value);
    const auto number = static_cast<std::int64_t>(word & ~sign);
    const std::int64_t sum = has_room(number, by) ? std::max<std::int64_t>(number + by, 0) : Limits::max();
    set_first_word(value, (word & sign) | static_cast<std::uint64_t>(sum));
    return sum;
}

std::int64_t Call::bitfield_i64(std::int64_t by, bool saturates) {
    Value& value = made_string();
    const std::uint64_t word = first_word(value);
    auto sum = static_cast<std::int64_t>(word + static_cast<std::uint64_t>(by));
    if (saturates && !has_room(static_cast<std::int64_t>(word), by)) {
        sum = by < 0 ? Limits::min() : Limits::max();
    }
    set_first_word(value, static_cast<std::uint64_t>(sum));
    return sum;
}

void Call::del() {
    write();
    if (value_ != nullptr) {
        erase();
    }
}

bool Call::replace_string() {
    if (!is_string()) {
        return false;
    }
    del();
    replaced_ = true;
    return true;
}

void Call::persist() {
    write();
    if (value_ != nullptr) {
        value_->expires = Value::never;
    }
}

Millis Call::pttl() const noexcept {
    if (value_ == nullptr) {
        return -2;
    }
    return value_->expires == Value::never ? -1 : std::max<Millis>(value_->expires - now(), 0);
}

void Call::pexpire(Millis life) {
    write();
    if (value_ == nullptr) {
        return;
    }
    if (life <= 0) {
        erase();
    } else {
        value_->expires = now() + life;
    }
}

}  // namespace rate_limit::simulated
