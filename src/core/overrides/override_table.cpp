#include "core/overrides/override_table.h"

#include <cstring>
#include <type_traits>
#include <unordered_map>

namespace rate_limit {

namespace {

static_assert(std::has_unique_object_representations_v<Override>);
bool same(const Override& a, const Override& b) noexcept {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

bool is_shared(const Override& what) noexcept {
    return what.scope == OverrideScope::shared;
}

/// Set on this machine alone, and still holding, after the one that machines share.
bool is_later_here(const Override& there, const Override& shared, Millis now) noexcept {
    return !is_shared(there) && there.until > now && there.from > shared.from;
}

}  // namespace

std::size_t OverrideTable::free_place(Millis now) const noexcept {
    return board_.find([now](const Override& there) { return there.until <= now; });
}

/// That of its override, else one that is free or whose override has ended.
std::size_t OverrideTable::place_for(const OverrideSubject& subject, Millis now) const noexcept {
    const std::size_t own = board_.find([&](const Override& there) { return there.subject == subject; });
    return own != Overrides::none ? own : free_place(now);
}

bool OverrideTable::put(const Override& what, Millis now) noexcept {
    Overrides::Writing writing(board_);
    const std::size_t at = place_for(what.subject, now);
    if (at == Overrides::none) {
        return false;
    }
    Override kept = what;
    if (!keeps_texts() && !is_shared(what)) {
        kept.text = "";
    }
    writing.write(at, kept);
    return true;
}

std::optional<std::size_t> OverrideTable::put_shared(std::uint64_t store, const std::vector<Override>& all,
                                                     SharedState& state, const SharedVersion& version,
                                                     Millis now) {
    struct Wanted {
        const Override* what;
        bool there;
    };
    std::unordered_map<OverrideSubject, Wanted, HashOfSubject> wanted;
    for (const Override& what : all) {
        if (what.until > now) {
            wanted[what.subject] = {&what, false};
        }
    }
    std::vector<std::size_t> free;
    Overrides::Writing writing(board_);
    if (!state.is_news(version)) {
        return std::nullopt;
    }
    for (std::size_t at = 0; at < capacity(); ++at) {
        const Override there = board_.read(at);
        const auto found = wanted.find(there.subject);
        if (found != wanted.end()) {
            found->second.there = true;
            if (!same(there, *found->second.what) && !is_later_here(there, *found->second.what, now)) {
                writing.write(at, *found->second.what);
            }
            continue;
        }
        const bool gone = there.until > now && there.store == store && is_shared(there);
        if (gone) {
            writing.write(at, {});
        }
        if (gone || there.until <= now) {
            free.push_back(at);
        }
    }
    std::size_t used = 0;
    std::size_t left = 0;
    for (const auto& [subject, want] : wanted) {
        if (!want.there && used < free.size()) {
            writing.write(free[used++], *want.what);
        } else if (!want.there) {
            ++left;
        }
    }
    state.take(version, left != 0);  // last: if this process dies before, the next one takes it up again
    return left;
}

bool OverrideTable::remove(const OverrideSubject& subject, Millis now) noexcept {
    Overrides::Writing writing(board_);
    const std::size_t at =
        board_.find([&](const Override& there) { return there.subject == subject && there.until > now; });
    if (at != Overrides::none) {
        writing.write(at, {});
    }
    return at != Overrides::none;
}

void OverrideTable::tidy(Millis now) noexcept {
    Overrides::Writing writing(board_);
    board_.for_each([&](std::size_t at, const Override& what) {
        if (what.until != 0 && what.until <= now) {
            writing.write(at, {});
        }
    });
}

std::vector<Override> OverrideTable::read(Millis now) const {
    const bool keeps = keeps_texts();
    std::vector<Override> all;
    board_.for_each([&](std::size_t /*at*/, Override what) {
        if (what.until > now) {
            if (!keeps || what.digested) {
                what.text = "";
            }
            all.push_back(what);
        }
    });
    return all;
}

std::vector<Override> OverrideTable::read_shared(std::uint64_t store, Millis now) const {
    std::vector<Override> all;
    board_.for_each([&](std::size_t /*at*/, const Override& what) {
        if (what.until > now && what.store == store && is_shared(what)) {
            all.push_back(what);
        }
    });
    return all;
}

/// A worker that writes meanwhile has the lock: what it has written is erased, and the next one sees the
/// word.
void OverrideTable::keep_texts(bool keep) noexcept {
    board_.head().store(keep, std::memory_order_relaxed);
    Overrides::Writing writing(board_);
    board_.for_each([&](std::size_t at, Override what) {
        if (!keep && !what.text.empty() && !is_shared(what)) {
            what.text = "";
            writing.write(at, what);
        }
    });
}

}  // namespace rate_limit
