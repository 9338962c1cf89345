#include "t/world/loop.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>

namespace rate_limit {

struct Timer::Event {
    enum class State : unsigned char { clear, timed, end_of_turn };

    static Event& of(Timer& timer) noexcept { return timer.event(); }
    static void fire(Timer& timer) noexcept {
        timer.event().state = State::clear;
        timer.callback_(timer.owner_);
    }

    State state = State::clear;
    bool keeps_worker = false;
    std::uint64_t number = 0;  // of its place
};

namespace world {

Loop* Loop::current_ = nullptr;

Loop::Loop() noexcept {
    current_ = this;
}

Loop::~Loop() {
    current_ = nullptr;
}

void Loop::end_turn() {
    while (!end_of_turn_.empty()) {
        Timer& timer = *end_of_turn_.begin()->second;
        end_of_turn_.erase(end_of_turn_.begin());
        Timer::Event::fire(timer);
    }
}

void Loop::pass(Msec wait) {
    const Msec until = now_ + wait;
    end_turn();
    while (!timers_.empty() && timers_.begin()->first.first <= until) {
        const auto first = timers_.begin();
        Timer& timer = *first->second;
        now_ = std::max(now_, first->first.first);
        timers_.erase(first);
        Timer::Event::fire(timer);
        end_turn();
    }
    now_ = until;
}

}  // namespace world

using world::Loop;

Msec msec_now() noexcept {
    return Loop::current().now();
}

std::uint32_t fresh_ticks() noexcept {
    return ticks_now();
}

std::int64_t steady_nanos() noexcept {
    return static_cast<std::int64_t>(msec_now()) * 1'000'000;
}

Millis now_millis() noexcept {
    return Loop::current().wall_clock + static_cast<Millis>(msec_now());
}

std::int64_t micros_now() noexcept {
    return now_millis() * 1000;
}

/// Numbers of a Weyl sequence, mixed as SplitMix64 does (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, 2014).
std::uint32_t random_bits() noexcept {
    std::uint64_t mixed = Loop::current().random_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>((mixed ^ mixed >> 31) >> 33);
}

bool random_bytes(unsigned char* bytes, std::size_t count) noexcept {
    std::generate_n(bytes, count, [] { return static_cast<unsigned char>(random_bits()); });
    return true;
}

bool is_leaving() noexcept {
    return Loop::current().leaving;
}

std::size_t number_of_worker() noexcept {
    return 0;
}

LockUser lock_user() noexcept {
    return {{1, 1}, [](const Process& /*process*/) { return true; }};
}

std::uint32_t parent_number() noexcept {
    return 0;
}

bool has_exact_timers() noexcept {
    return true;
}

struct Log {};

Log& process_log() noexcept {
    static Log log;
    return log;
}

void log_line(Log& /*log*/, LogLevel /*level*/, const char* format, ...) noexcept {
    char text[2000];
    std::va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    Loop::current().lines_.emplace_back(text);
}

Timer::Timer(void* owner, Callback callback, Worker worker) noexcept : owner_(owner), callback_(callback) {
    static_assert(sizeof(Event) <= sizeof event_ && alignof(Event) <= alignof(std::max_align_t));
    new (event_) Event{};
    keep_worker(worker == Worker::stays);
}

void Timer::set(Msec wait) noexcept {
    clear();
    Loop& loop = Loop::current();
    due_ = loop.now() + wait;
    event().state = Event::State::timed;
    event().number = ++loop.set_;
    loop.timers_.emplace(Loop::Place{due_, event().number}, this);
}

void Timer::set_to_end_of_turn() noexcept {
    clear();
    Loop& loop = Loop::current();
    due_ = loop.now();
    event().state = Event::State::end_of_turn;
    event().number = ++loop.set_;
    loop.end_of_turn_.emplace(event().number, this);
}

void Timer::clear() noexcept {
    if (event().state == Event::State::timed) {
        Loop::current().timers_.erase({due_, event().number});
    } else if (event().state == Event::State::end_of_turn) {
        Loop::current().end_of_turn_.erase(event().number);
    }
    event().state = Event::State::clear;
}

bool Timer::armed() const noexcept {
    return event().state != Event::State::clear;
}

void Timer::keep_worker(bool keeps) noexcept {
    event().keeps_worker = keeps;
}

bool Timer::keeps_worker() const noexcept {
    return event().keeps_worker;
}

}  // namespace rate_limit
