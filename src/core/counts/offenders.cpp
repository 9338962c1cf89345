#include "core/counts/offenders.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>

#include "core/counts/hot_keys.h"

namespace rate_limit {

namespace {

/// A reader looks again while a place changes hands, but not for ever: its process may have died.
constexpr unsigned most_tries = 8;

constexpr std::uint64_t keyless_mask = (std::uint64_t{1} << 40U) - 1;
constexpr std::uint64_t period_mask = (std::uint64_t{1} << 24U) - 1;

constexpr std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + Offenders::alignment - 1) / Offenders::alignment * Offenders::alignment;
}

/// Raises a number that only this process writes.
template <typename Number>
void raise(std::atomic<Number>& number) noexcept {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

std::size_t Offenders::half_bytes(std::size_t keys) noexcept {
    return round_up(sizeof(Half) + keys * (sizeof(std::uint64_t) + sizeof(std::uint32_t) + sizeof(Place)));
}

std::size_t Offenders::header_bytes(std::size_t areas) noexcept {
    return sizeof(Header) + sizeof(Keyless) + round_up(areas * sizeof(std::uint64_t));
}

std::size_t Offenders::bytes_for(std::size_t workers) noexcept {
    const std::size_t areas = 2 * std::max<std::size_t>(workers, 1);
    return header_bytes(areas) + areas * 2 * half_bytes(most_keys);
}

bool Offenders::use(void* memory, std::size_t size, const LockUser& user, std::size_t workers,
                    Millis since) noexcept {
    workers = std::max<std::size_t>(workers, 1);
    if (!LayoutMark::fits(memory, size, header_bytes(0))) {
        return false;
    }
    const auto fits = [&](std::size_t areas, std::size_t keys) {
        return header_bytes(areas) + areas * 2 * half_bytes(keys) <= size;
    };
    std::size_t areas = 2 * workers;
    std::size_t keys = most_keys;
    while (areas > workers && !fits(areas, keys)) {
        --areas;
    }
    while (keys > least_keys && !fits(areas, keys)) {
        --keys;
    }
    while (areas > 0 && !fits(areas, keys)) {
        --areas;
    }
    auto* at = static_cast<char*>(memory);
    header_ = static_cast<Header*>(memory);
    keyless_ = reinterpret_cast<Keyless*>(at + sizeof(Header));
    owners_ = reinterpret_cast<std::atomic<std::uint64_t>*>(at + header_bytes(0));
    halves_ = at + header_bytes(areas);
    areas_ = areas;
    keys_ = keys;
    since_ = since;
    user_ = user;
    area_ = none;
    period_ = 0;
    tried_ = -1;
    return true;
}

/// Generations take turns in the two halves of an area.
Offenders::View Offenders::view(std::size_t area, std::uint64_t period) const noexcept {
    char* at = halves_ + (2 * area + period % 2) * half_bytes(keys_);
    View view;
    view.half = reinterpret_cast<Half*>(at);
    at += sizeof(Half);
    view.ids = reinterpret_cast<std::atomic<std::uint64_t>*>(at);
    at += keys_ * sizeof(std::uint64_t);
    view.places = reinterpret_cast<Place*>(at);
    at += keys_ * sizeof(Place);
    view.rejected = reinterpret_cast<std::atomic<std::uint32_t>*>(at);
    return view;
}

/// No process gives its area back: when it has died, others see that.
bool Offenders::claim(Millis now) noexcept {
    if (tried_ >= 0 && now >= tried_ && now - tried_ < pause_between_claims) {
        return false;
    }
    tried_ = now;
    const std::optional<std::size_t> own = claim_one(owners_, areas(), user_);
    if (own) {
        area_ = *own;
        mend(area_);
    }
    return own.has_value();
}

/// The process before may have died while a place changed hands. The place is nobody's then, and its count
/// stays: it says how often a key without a place can have been rejected.
void Offenders::mend(std::size_t area) noexcept {
    for (std::uint64_t period = 0; period < 2; ++period) {
        const View half = view(area, period);
        for (std::size_t at = 0; at < keys(); ++at) {
            Place& place = half.places[at];
            const std::uint32_t sequence = place.sequence.load(std::memory_order_relaxed);
            if (sequence % 2 != 0) {
                half.ids[at].store(0, std::memory_order_relaxed);
                place.sequence.store(sequence + 1, std::memory_order_release);
            }
        }
    }
}

/// Makes the half empty for another generation. A reader sees by the period, before and after, what it must
/// not believe.
void Offenders::begin(const View& view, std::uint64_t period) noexcept {
    view.half->period.store(0, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    view.half->total.store(0, std::memory_order_relaxed);
    for (std::size_t at = 0; at < keys(); ++at) {
        view.ids[at].store(0, std::memory_order_relaxed);
        view.rejected[at].store(0, std::memory_order_relaxed);
        view.places[at].size.store(0, std::memory_order_relaxed);
    }
    view.half->period.store(period, std::memory_order_release);
}

void Offenders::note(const Rejection& rejection, Millis now) noexcept {
    const std::uint64_t period = period_of(now);
    if (rejection.id == 0 || (area_ == none && !claim(now))) {
        note_keyless(period);
        return;
    }
    if (period != period_) {
        own_ = view(area_, period);
        period_ = period;
    }
    const View& half = own_;
    if (half.half->period.load(std::memory_order_relaxed) != period) {
        begin(half, period);
    }
    raise(half.half->total);
    const KeyPlace key = find_key(
        rejection.id, keys(), [&](std::size_t at) { return half.ids[at].load(std::memory_order_relaxed); },
        [&](std::size_t at) { return half.rejected[at].load(std::memory_order_relaxed); });
    key.is_taken ? raise(half.rejected[key.at]) : take(half, key.at, rejection);
    Place& place = half.places[key.at];
    if (rejection.dry_run) {
        raise(place.dry_run);
    }
    place.last.store(now, std::memory_order_relaxed);
    if (place.size.load(std::memory_order_relaxed) == 0 &&
        header_->keeps_keys.load(std::memory_order_relaxed) != 0) {
        write_text(place, rejection.key);
    }
}

void Offenders::take(const View& view, std::size_t at, const Rejection& rejection) noexcept {
    Place& place = view.places[at];
    const std::uint32_t before = view.rejected[at].load(std::memory_order_relaxed);
    raise(place.sequence);
    std::atomic_thread_fence(std::memory_order_release);
    view.ids[at].store(rejection.id, std::memory_order_relaxed);
    place.over.store(before, std::memory_order_relaxed);
    place.dry_run.store(0, std::memory_order_relaxed);
    place.size.store(0, std::memory_order_relaxed);
    place.limit.store(rejection.limit, std::memory_order_relaxed);
    view.rejected[at].store(before + 1, std::memory_order_relaxed);
    place.sequence.store(place.sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

/// keep_keys(false) may come at the same time: either its walk finds the text, or it is seen here.
void Offenders::write_text(Place& place, std::string_view key) noexcept {
    const std::size_t size = std::min(key.size(), most_text);
    raise(place.sequence);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t from = 0; from < size; from += sizeof(std::uint64_t)) {
        std::uint64_t word = 0;
        std::memcpy(&word, key.data() + from, std::min(sizeof word, size - from));
        place.text[from / sizeof word].store(word, std::memory_order_relaxed);
    }
    place.size.store(static_cast<std::uint32_t>(size) | (size < key.size() ? cut_bit : 0),
                     std::memory_order_relaxed);
    place.sequence.store(place.sequence.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (header_->keeps_keys.load(std::memory_order_relaxed) == 0) {
        erase_text(place);
    }
}

void Offenders::erase_text(Place& place) noexcept {
    place.size.store(0, std::memory_order_relaxed);
    for (auto& word : place.text) {
        word.store(0, std::memory_order_relaxed);
    }
}

void Offenders::keep_keys(bool keep) noexcept {
    const bool kept = header_->keeps_keys.exchange(keep ? 1 : 0, std::memory_order_seq_cst) != 0;
    if (keep || !kept) {
        return;
    }
    std::atomic_thread_fence(std::memory_order_seq_cst);
    for (std::size_t half = 0; half < 2 * areas(); ++half) {
        const View erased = view(half / 2, half % 2);
        std::for_each(erased.places, erased.places + keys(), [this](Place& place) { erase_text(place); });
    }
}

/// Several processes may be without an area: here alone they write to one word.
void Offenders::note_keyless(std::uint64_t period) noexcept {
    std::atomic<std::uint64_t>& word = keyless_->words[period % 2];
    std::uint64_t before = word.load(std::memory_order_relaxed);
    std::uint64_t after = 0;
    do {
        const bool same = before >> 40U == (period & period_mask);
        after = same ? before + 1 : keyless_word(period, 1);
    } while (!word.compare_exchange_weak(before, after, std::memory_order_relaxed));
}

/// Calls read() until the place has not changed hands meanwhile. False: read() said that the place is not the
/// one that is wanted, or it keeps changing hands.
template <typename Read>
bool Offenders::read_steadily(const Place& place, Read&& read) {
    for (unsigned tries = 0; tries < most_tries; ++tries) {
        const std::uint32_t sequence = place.sequence.load(std::memory_order_acquire);
        if (sequence % 2 != 0) {
            continue;
        }
        if (!read()) {
            return false;
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        if (place.sequence.load(std::memory_order_relaxed) == sequence) {
            return true;
        }
    }
    return false;
}

bool Offenders::read_place(const View& view, std::size_t at, Found& found) noexcept {
    const Place& place = view.places[at];
    found.holder = &view.ids[at];
    found.place = &place;
    return read_steadily(place, [&] {
        found.id = view.ids[at].load(std::memory_order_relaxed);
        // The count first: what is read after it can only have grown since.
        found.rejected = view.rejected[at].load(std::memory_order_acquire);
        found.over = place.over.load(std::memory_order_relaxed);
        found.dry_run =
            std::min<std::uint64_t>(place.dry_run.load(std::memory_order_relaxed), found.rejected);
        found.limit = place.limit.load(std::memory_order_relaxed);
        found.last = place.last.load(std::memory_order_relaxed);
        found.has_text = place.size.load(std::memory_order_relaxed) != 0;
        return found.id != 0;
    });
}

/// With the text of the key, where it is kept and the place is still the key's.
Offenders::Offender Offenders::offender_of(const Found& found) {
    Offender offender{found, {}, false};
    std::array<char, most_text> text;
    std::uint32_t size = 0;
    const bool is_read = read_steadily(*found.place, [&] {
        size = found.place->size.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < found.place->text.size(); ++i) {
            const std::uint64_t word = found.place->text[i].load(std::memory_order_relaxed);
            std::memcpy(text.data() + i * sizeof word, &word, sizeof word);
        }
        return found.holder->load(std::memory_order_relaxed) == found.id;
    });
    if (is_read) {
        offender.key.assign(text.data(), std::min<std::size_t>(size & ~cut_bit, most_text));
        offender.cut = (size & cut_bit) != 0;
    }
    return offender;
}

/// Puts what the half has behind `found`, and its rejections to `total`. The clocks of two processes may be a
/// little apart, so a generation that has just begun is believed, too.
void Offenders::read_half(std::size_t half, std::uint64_t now, std::vector<Found>& found,
                          std::uint64_t& total) const {
    const View read = view(half / 2, half % 2);
    const std::uint64_t period = read.half->period.load(std::memory_order_acquire);
    if (period == 0 || period + 1 < now || period > now + 1) {
        return;
    }
    const std::size_t before = found.size();
    for (std::size_t at = 0; at < keys(); ++at) {
        Found place;
        if (read_place(read, at, place)) {
            found.push_back(place);
        }
    }
    const std::uint64_t rejected = read.half->total.load(std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_acquire);
    if (read.half->period.load(std::memory_order_relaxed) != period) {
        found.resize(before);
        return;
    }
    total += rejected;
}

/// Makes one of what several areas have of a key.
void Offenders::merge(std::vector<Found>& found) {
    std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.id < b.id; });
    std::size_t merged = 0;
    for (const Found& each : found) {
        if (merged == 0 || found[merged - 1].id != each.id) {
            found[merged++] = each;
            continue;
        }
        Found& all = found[merged - 1];
        all.rejected += each.rejected;
        all.over += each.over;
        all.dry_run += each.dry_run;
        all.last = std::max(all.last, each.last);
        if (!all.has_text) {
            std::tie(all.holder, all.place, all.has_text) = std::tie(each.holder, each.place, each.has_text);
        }
    }
    found.resize(merged);
}

/// There may be many thousand places: texts are read of those alone that are shown.
Offenders::Report Offenders::read(Millis now) const {
    Report report;
    const std::uint64_t period = period_of(now);
    report.since = std::max(since_, static_cast<Millis>(period - 1) * generation);
    std::vector<Found> found;
    found.reserve(2 * areas() * keys());
    for (std::size_t half = 0; half < 2 * areas(); ++half) {
        read_half(half, period, found, report.total);
    }
    for (const auto& word : keyless_->words) {
        const std::uint64_t keyless = word.load(std::memory_order_relaxed);
        const std::uint64_t age = (period + 1 - (keyless >> 40U)) & period_mask;
        report.total += age <= 2 ? keyless & keyless_mask : 0;
    }
    merge(found);
    const auto shown = found.begin() + static_cast<std::ptrdiff_t>(std::min(found.size(), most_shown));
    std::partial_sort(found.begin(), shown, found.end(), [](const Found& a, const Found& b) {
        return std::make_tuple(b.certain(), b.rejected, a.id) <
               std::make_tuple(a.certain(), a.rejected, b.id);
    });
    report.keys.reserve(static_cast<std::size_t>(shown - found.begin()));
    std::transform(found.begin(), shown, std::back_inserter(report.keys), offender_of);
    return report;
}

}  // namespace rate_limit
