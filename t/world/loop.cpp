#include "t/world/loop.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <set>
#include <utility>

#include "limiter/configuration.h"

namespace rate_limit {

using world::Events;
using world::Loop;

struct Timer::Event {
    enum class State : unsigned char { clear, timed, end_of_turn };

    /// When its time has come. A process that stalls looks at its timers when it runs again.
    static void come(Timer& timer) noexcept {
        Event& event = timer.event();
        if (event.loop.stalls()) {
            event.place = event.loop.events().at(event.loop.stalled_until(), [&timer] { come(timer); });
        } else {
            event.loop.turn([&] {
                event.loop.read_clock_again();
                fire(timer);
            });
        }
    }

    static void fire(Timer& timer) noexcept {
        timer.event().become(State::clear);
        timer.callback_(timer.owner_);
    }

    void become(State next) noexcept {
        const bool before = state != State::clear && keeps_worker;
        const bool after = next != State::clear && keeps_worker;
        loop.count_keeping(static_cast<int>(after) - static_cast<int>(before));
        state = next;
    }

    Loop& loop = Loop::current();
    State state = State::clear;
    bool keeps_worker = false;
    std::uint64_t number = 0;  // at the end of the turn
    Events::Place place{};     // its place among the timed events
};

namespace world {

Loop* Loop::current_ = nullptr;
TurnObserver* Loop::observer_ = nullptr;

namespace {

/// The processes that live, of the whole world.
std::set<std::uint32_t>& living() {
    static std::set<std::uint32_t> pids;
    return pids;
}

}  // namespace

Loop::Loop(Events& events, std::uint32_t pid, Millis wall)
    : wall_clock(wall), events_(events), pid_(pid), random_(events.seed() ^ pid) {
    living().insert(pid);
    enter();
}

bool Loop::is_alive(std::uint32_t pid) noexcept {
    return living().count(pid) != 0;
}

Loop::~Loop() {
    living().erase(pid_);
    Loop* const next = current_ == this ? nullptr : current_;
    enter();
    worker_.end();
    current_ = next;
}

void Loop::end_turn() {
    while (!end_of_turn_.empty()) {
        Timer& timer = *end_of_turn_.begin()->second;
        end_of_turn_.erase(end_of_turn_.begin());
        Timer::Event::fire(timer);
    }
}

void Loop::read_clock() noexcept {
    const Micros most = clock != nullptr ? clock->read_before : 0;
    const Micros before = most != 0 ? static_cast<Micros>(random()) % (most + 1) : 0;
    read_at_ = std::max(read_at_, events_.now() - before);
}

std::uint64_t Loop::put_at_end(Timer& timer) {
    end_of_turn_.emplace(++put_, &timer);
    return put_;
}

/// Numbers of a Weyl sequence, mixed as SplitMix64 does (Steele, Lea, Flood: Fast splittable pseudorandom
/// number generators, 2014).
std::uint32_t Loop::random() noexcept {
    std::uint64_t mixed = random_ += 0x9e3779b97f4a7c15U;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9U;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebU;
    return static_cast<std::uint32_t>((mixed ^ mixed >> 31) >> 33);
}

}  // namespace world

const Configuration* configuration_at_work() noexcept {
    return Loop::current().configuration;
}

Msec msec_now() noexcept {
    return Loop::current().now();
}

std::uint32_t fresh_ticks() noexcept {
    return static_cast<std::uint32_t>(Loop::current().fresh());
}

std::int64_t steady_nanos() noexcept {
    return Loop::current().events().now() * 1000;
}

Millis now_millis() noexcept {
    const Loop& loop = Loop::current();
    return loop.wall_clock +
           (loop.read() + (loop.clock != nullptr ? loop.clock->ahead_at(loop.read()) : 0)) / 1000;
}

std::int64_t micros_now() noexcept {
    const Loop& loop = Loop::current();
    const world::Micros now = loop.events().now();
    return loop.wall_clock * 1000 + now + (loop.clock != nullptr ? loop.clock->ahead_at(now) : 0);
}

std::uint32_t random_bits() noexcept {
    return Loop::current().random();
}

bool random_bytes(unsigned char* bytes, std::size_t count) noexcept {
    std::generate_n(bytes, count, [] { return static_cast<unsigned char>(random_bits()); });
    return true;
}

bool is_leaving() noexcept {
    return Loop::current().leaving;
}

std::size_t number_of_worker() noexcept {
    return Loop::current().number;
}

std::size_t most_connections() noexcept {
    return Loop::current().connections;
}

LockUser lock_user() noexcept {
    return {{Loop::current().pid(), 1}, [](const Process& process) { return Loop::is_alive(process.pid); }};
}

std::uint32_t parent_pid() noexcept {
    return Loop::current().parent;
}

bool has_exact_timers() noexcept {
    return true;
}

struct Log {};

Log& process_log() noexcept {
    static Log log;
    return log;
}

// NOLINTNEXTLINE(cert-dcl50-cpp): the compiler checks the arguments against the format
void log_line(Log& /*log*/, LogLevel level, const char* format, ...) noexcept {
    char text[2000];
    const bool debug = level == LogLevel::debug;
    if (debug && Loop::observer() == nullptr) {
        return;
    }
    std::va_list arguments;
    va_start(arguments, format);
    (void)std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (debug) {
        Loop::observer()->on_debug_line(text);
        return;
    }
    if (Loop::observer() != nullptr) {
        Loop::observer()->on_line(level, text);
    }
    Loop::current().write(text);
}

Timer::Timer(void* owner, Callback callback, Worker worker) noexcept : owner_(owner), callback_(callback) {
    static_assert(sizeof(Event) <= sizeof event_ && alignof(Event) <= alignof(void*));
    new (event_) Event{};
    keep_worker(worker == Worker::stays);
}

void Timer::set(Msec wait) noexcept {
    clear();
    Loop& loop = event().loop;
    due_ = loop.now() + wait;
    event().become(Event::State::timed);
    event().place = loop.events().at((loop.read() / 1000 + static_cast<world::Micros>(wait)) * 1000,
                                     [this] { Event::come(*this); });
}

void Timer::set_to_end_of_turn() noexcept {
    clear();
    due_ = event().loop.now();
    event().become(Event::State::end_of_turn);
    event().number = event().loop.put_at_end(*this);
}

void Timer::clear() noexcept {
    if (event().state == Event::State::timed) {
        event().loop.events().cancel(event().place);
    } else if (event().state == Event::State::end_of_turn) {
        event().loop.take_from_end(event().number);
    }
    event().become(Event::State::clear);
}

bool Timer::armed() const noexcept {
    return event().state != Event::State::clear;
}

void Timer::keep_worker(bool keeps) noexcept {
    const bool counts = armed();
    event().loop.count_keeping(counts ? static_cast<int>(keeps) - static_cast<int>(event().keeps_worker) : 0);
    event().keeps_worker = keeps;
}

bool Timer::keeps_worker() const noexcept {
    return event().keeps_worker;
}

}  // namespace rate_limit
