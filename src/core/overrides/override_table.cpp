#include "core/overrides/override_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <unordered_map>

namespace rate_limit {

namespace {

/// Copies the front of `text`, and returns how much of it there was room for.
template <std::size_t room>
std::uint8_t keep(std::array<char, room>& out, std::string_view text) noexcept {
    const std::size_t size = std::min(room, text.size());
    std::copy_n(text.begin(), size, out.begin());
    return static_cast<std::uint8_t>(size);
}

template <std::size_t room>
std::string_view kept(const std::array<char, room>& text, std::uint8_t size) noexcept {
    return {text.data(), std::min<std::size_t>(room, size)};
}

}  // namespace

std::size_t OverrideTable::bytes_for(std::size_t overrides) noexcept {
    return sizeof(Header) + (overrides + 1) * sizeof(Place);
}

bool OverrideTable::use(void* memory, std::size_t size, const LockUser& user) noexcept {
    if (!LayoutMark::fits(memory, size, bytes_for(1))) {
        return false;
    }
    user_ = user;
    header_ = static_cast<Header*>(memory);
    first_ = reinterpret_cast<Place*>(static_cast<char*>(memory) + sizeof(Header));
    places_ = std::min(most + 1, (size - sizeof(Header)) / sizeof(Place));
    return true;
}

/// False: the place is being written, or its writer has died.
bool OverrideTable::read_place(std::size_t at, Words& words) const noexcept {
    const Place& place = first_[at];
    std::array<std::uint64_t, word_count> copy;
    for (unsigned tries = 0; tries < 3; ++tries) {
        const std::uint64_t sequence = place.sequence.load(std::memory_order_acquire);
        if (sequence % 2 != 0) {
            return false;
        }
        for (std::size_t i = 0; i < word_count; ++i) {
            copy[i] = place.words[i].load(std::memory_order_relaxed);
        }
        std::atomic_thread_fence(std::memory_order_acquire);
        if (place.sequence.load(std::memory_order_relaxed) == sequence) {
            std::memcpy(&words, copy.data(), sizeof words);
            return true;
        }
    }
    return false;
}

/// The caller has the lock.
void OverrideTable::write_place(std::size_t at, const Words& words) noexcept {
    Place& place = first_[at];
    std::array<std::uint64_t, word_count> copy;
    std::memcpy(copy.data(), &words, sizeof words);
    const std::uint64_t sequence = place.sequence.load(std::memory_order_relaxed) | 1U;
    place.sequence.store(sequence, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < word_count; ++i) {
        place.words[i].store(copy[i], std::memory_order_relaxed);
    }
    place.sequence.store(sequence + 1, std::memory_order_release);
}

void OverrideTable::free_place(std::size_t at) noexcept {
    write_place(at, Words{});
}

/// A process has died while it had the lock: of two overrides of one subject frees the one of before.
void OverrideTable::drop_replaced() noexcept {
    struct Seen {
        OverrideSubject subject;
        std::uint64_t number;
    };
    std::array<Seen, most + 1> seen;
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        const bool taken = read_place(at, words) && words.limit != 0;
        seen[at] = taken ? Seen{{words.limit, words.key}, words.number} : Seen{};
        for (std::size_t other = 0; taken && other < at; ++other) {
            if (seen[other].subject == seen[at].subject) {
                const std::size_t older = seen[other].number < seen[at].number ? other : at;
                free_place(older);
                seen[older] = {};
            }
        }
    }
    change();
}

/// Takes the lock, and frees places whose writer has died, or whose override has ended.
void OverrideTable::begin_change(HeldLock& held, Millis now) noexcept {
    if (held.acquire(header_->lock, user_)) {
        drop_replaced();
    }
    bool gone = false;
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        if (!read_place(at, words)) {
            free_place(at);
        } else if (words.limit != 0 && words.until <= now) {
            free_place(at);
            gone = true;
        }
    }
    if (gone) {
        change();
    }
}

OverrideTable::Words OverrideTable::words_of(const Override& what) noexcept {
    Words words{};
    words.limit = what.subject.limit;
    words.key = what.subject.key;
    words.store = what.store;
    words.from = what.from;
    words.until = what.until;
    words.kind = static_cast<std::uint8_t>(what.kind);
    words.scope = static_cast<std::uint8_t>(what.scope);
    words.percent = what.percent;
    words.by_size = keep(words.by, what.by);
    words.text_size = keep(words.text, what.text);
    words.cut = what.cut || what.text.size() > words.text.size() ? 1 : 0;
    words.digested = what.digested ? 1 : 0;
    return words;
}

void OverrideTable::forget_text(Words& words) noexcept {
    words.text_size = 0;
    words.cut = 0;
    words.text.fill(0);
}

bool OverrideTable::same(Words a, Words b) noexcept {
    a.number = b.number = 0;
    return std::memcmp(&a, &b, sizeof a) == 0;
}

std::size_t OverrideTable::take_free(Room& room) const noexcept {
    for (; room.next < places_; ++room.next) {
        Words words;
        if (read_place(room.next, words) && words.limit == 0) {
            return room.next;
        }
    }
    return none;
}

/// The new one is there before the old one goes. Each step changes the generation, so that a worker that has
/// seen neither looks again. The caller has the lock.
bool OverrideTable::replace(const Words& words, std::size_t before, Room& room) noexcept {
    const std::size_t at = before == none && room.used >= capacity() ? none : take_free(room);
    if (at == none) {
        return false;
    }
    Words numbered = words;
    numbered.number = header_->last.fetch_add(1, std::memory_order_relaxed) + 1;
    write_place(at, numbered);
    change();
    if (before == none) {
        ++room.used;
    } else {
        free_place(before);
        room.next = std::min(room.next, before);
        change();
    }
    return true;
}

bool OverrideTable::put(const Override& what, Millis now) noexcept {
    HeldLock held;
    begin_change(held, now);
    Room room;
    std::size_t before = none;
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        if (!read_place(at, words) || words.limit == 0) {
            continue;
        }
        ++room.used;
        if (OverrideSubject{words.limit, words.key} == what.subject) {
            before = at;
        }
    }
    Words words = words_of(what);
    if (!keeps_texts() && !is_shared(words)) {
        forget_text(words);
    }
    return replace(words, before, room);
}

std::optional<std::size_t> OverrideTable::put_shared(std::uint64_t store, const std::vector<Override>& all,
                                                     SharedState& state, std::int64_t version, Millis now) {
    struct Wanted {
        Words words;
        std::size_t before;
        bool there;
    };
    std::unordered_map<OverrideSubject, Wanted, HashOfSubject> wanted;
    for (const Override& what : all) {
        if (what.until > now) {
            wanted[what.subject] = {words_of(what), none, false};
        }
    }
    HeldLock held;
    begin_change(held, now);
    if (!state.is_news(version, now)) {
        return std::nullopt;
    }
    Room room;
    bool ended = false;
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        if (!read_place(at, words) || words.limit == 0) {
            continue;
        }
        const auto found = wanted.find({words.limit, words.key});
        if (found != wanted.end()) {
            ++room.used;
            found->second.before = at;
            found->second.there = same(words, found->second.words);
        } else if (words.store == store && is_shared(words)) {
            free_place(at);
            ended = true;
        } else {
            ++room.used;
        }
    }
    if (ended) {
        change();
    }
    std::size_t left = 0;
    for (const auto& [subject, what] : wanted) {
        left += what.there || replace(what.words, what.before, room) ? 0 : 1;
    }
    state.take(version, now);  // last: if this process dies before, the next one takes it up again
    return left;
}

bool OverrideTable::has_room(const OverrideSubject& subject, Millis now) const {
    const std::vector<Override> all = read(now);
    return all.size() < capacity() || std::any_of(all.begin(), all.end(), [&subject](const Override& what) {
               return what.subject == subject;
           });
}

bool OverrideTable::remove(const OverrideSubject& subject, Millis now) noexcept {
    HeldLock held;
    begin_change(held, now);
    bool removed = false;
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        if (read_place(at, words) && words.limit != 0 && OverrideSubject{words.limit, words.key} == subject) {
            free_place(at);
            removed = true;
        }
    }
    if (removed) {
        change();
    }
    return removed;
}

void OverrideTable::tidy(Millis now) noexcept {
    HeldLock held;
    begin_change(held, now);
}

std::vector<Override> OverrideTable::read_if(Millis now, std::optional<std::uint64_t> shared_by) const {
    struct Found {
        std::size_t at;
        std::uint64_t number;
    };
    std::vector<Override> all;
    std::unordered_map<OverrideSubject, Found, HashOfSubject> found;
    const bool keeps = keeps_texts();
    for (std::size_t place = 0; place < places_; ++place) {
        Words words;
        if (!read_place(place, words) || words.limit == 0 || words.until <= now ||
            (shared_by && (words.store != *shared_by || !is_shared(words)))) {
            continue;
        }
        if (!shared_by && (!keeps || words.digested != 0)) {
            forget_text(words);
        }
        Override what;
        what.subject = {words.limit, words.key};
        what.store = words.store;
        what.kind = static_cast<OverrideKind>(words.kind);
        what.scope = static_cast<OverrideScope>(words.scope);
        what.percent = words.percent;
        what.from = words.from;
        what.until = words.until;
        what.by = kept(words.by, words.by_size);
        what.text = kept(words.text, words.text_size);
        what.cut = words.cut != 0;
        what.digested = words.digested != 0;
        const auto [twin, fresh] = found.emplace(what.subject, Found{all.size(), words.number});
        if (fresh) {
            all.push_back(std::move(what));
        } else if (words.number > twin->second.number) {
            twin->second.number = words.number;
            all[twin->second.at] = std::move(what);
        }
    }
    return all;
}

/// A worker that writes meanwhile has the lock: what it has written is erased, and the next one sees the
/// word.
void OverrideTable::keep_texts(bool keep) noexcept {
    header_->keeps_texts.store(keep ? 1 : 0, std::memory_order_relaxed);
    if (keep) {
        return;
    }
    HeldLock held;
    held.acquire(header_->lock, user_);
    for (std::size_t at = 0; at < places_; ++at) {
        Words words;
        if (read_place(at, words) && words.text_size != 0 && !is_shared(words)) {
            forget_text(words);
            write_place(at, words);
        }
    }
}

}  // namespace rate_limit
