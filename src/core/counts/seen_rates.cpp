#include "core/counts/seen_rates.h"

#include <algorithm>

namespace rate_limit {

namespace {

constexpr unsigned period_bits = 25;

/// Above all periods of the clock stand those of a calendar.
constexpr std::int64_t of_calendar = (std::int64_t{1} << period_bits) - static_cast<std::int64_t>(calendars);
static_assert(max_period < of_calendar);

/// A limit of 0 has no windows, and is written as 1: 0 stands for no rate.
std::uint64_t pack(const Rate& rate) noexcept {
    const auto limit = std::clamp<std::int64_t>(rate.limit, 1, SeenRates::most_limit);
    const std::int64_t period = rate.calendar == Calendar::none
                                    ? rate.period
                                    : of_calendar + static_cast<std::int64_t>(rate.calendar);
    return static_cast<std::uint64_t>(limit) << period_bits | static_cast<std::uint64_t>(period);
}

std::uint64_t period_of(std::uint64_t packed) noexcept {
    return packed & ((std::uint64_t{1} << period_bits) - 1);
}

Rate unpack(std::uint64_t packed) noexcept {
    const auto limit = static_cast<std::int64_t>(packed >> period_bits);
    const auto period = static_cast<std::int64_t>(period_of(packed));
    if (period < of_calendar) {
        return {limit, period};
    }
    const auto calendar = static_cast<Calendar>(period - of_calendar);
    return {limit, longest(calendar), calendar};
}

}  // namespace

bool SeenRates::use(void* memory, std::size_t size) noexcept {
    if (!LayoutMark::fits(memory, size, bytes_for(1))) {
        return false;
    }
    places_ = static_cast<Place*>(memory);
    count_ = size / sizeof(Place);
    return true;
}

/// A search goes past places that are free again, and ends at one that never was taken.
SeenRates::Place* SeenRates::find(std::uint64_t name) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
        Place& place = places_[(name + i) % count_];
        const std::uint64_t found = place.name.load(std::memory_order_relaxed);
        if (found == name) {
            return &place;
        }
        if (found == 0) {
            break;
        }
    }
    return nullptr;
}

/// Two processes may give a limit two places: the one that a search finds first has what is seen from then
/// on.
SeenRates::Place* SeenRates::find_or_take(std::uint64_t name) noexcept {
    if (Place* place = find(name); place != nullptr) {
        return place;
    }
    for (std::size_t i = 0; i < count_; ++i) {
        Place& place = places_[(name + i) % count_];
        std::uint64_t found = place.name.load(std::memory_order_relaxed);
        if (found == name ||
            (found <= left &&
             (place.name.compare_exchange_strong(found, name, std::memory_order_relaxed) || found == name))) {
            return &place;
        }
    }
    return nullptr;
}

/// A worker that has just found a place may still note one rate in it when another limit has it: a look-up of
/// that limit then asks for one window more.
void SeenRates::make_room(std::vector<std::uint64_t> names) {
    std::sort(names.begin(), names.end());
    std::size_t free = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        free += places_[i].name.load(std::memory_order_relaxed) <= left ? 1 : 0;
    }
    const auto is_new = [this](std::uint64_t name) { return find(name) == nullptr; };
    if (static_cast<std::size_t>(std::count_if(names.begin(), names.end(), is_new)) <= free) {
        return;
    }
    for (std::size_t i = 0; i < count_; ++i) {
        Place& place = places_[i];
        const std::uint64_t name = place.name.load(std::memory_order_relaxed);
        if (name <= left || std::binary_search(names.begin(), names.end(), name)) {
            continue;
        }
        for (auto& rate : place.rates) {
            rate.store(0, std::memory_order_relaxed);
        }
        place.name.store(left, std::memory_order_relaxed);
    }
}

/// Several processes may note at a time: one rate may then be there twice, or give way to another, until it
/// is seen again.
void SeenRates::note(std::uint64_t name, const Rate& rate) noexcept {
    Place* place = find_or_take(name);
    if (place == nullptr) {
        return;
    }
    const std::uint64_t packed = pack(rate);
    std::array<std::uint64_t, most> known{};
    for (std::size_t i = 0; i < most; ++i) {
        known.at(i) = place->rates.at(i).load(std::memory_order_relaxed);
        if (known.at(i) == packed) {
            return;
        }
        if (known.at(i) == 0 &&
            place->rates.at(i).compare_exchange_strong(known.at(i), packed, std::memory_order_relaxed)) {
            return;
        }
    }
    const auto is_spare = [&known, packed](std::uint64_t other) {
        const auto same = [other](std::uint64_t one) { return period_of(one) == period_of(other); };
        return same(packed) || std::count_if(known.begin(), known.end(), same) > 1;
    };
    std::size_t goes = place->gone.fetch_add(1, std::memory_order_relaxed) % most;
    for (std::size_t i = 0; i < most && !is_spare(known.at(goes)); ++i) {
        goes = (goes + 1) % most;
    }
    place->rates.at(goes).store(packed, std::memory_order_relaxed);
}

std::array<Rate, SeenRates::most> SeenRates::read(std::uint64_t name) const noexcept {
    std::array<Rate, most> rates{};
    const Place* place = find(name);
    for (std::size_t i = 0; place != nullptr && i < most; ++i) {
        rates.at(i) = unpack(place->rates.at(i).load(std::memory_order_relaxed));
    }
    return rates;
}

}  // namespace rate_limit
