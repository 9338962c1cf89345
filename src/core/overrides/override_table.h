#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/overrides/override.h"
#include "core/overrides/shared_state.h"
#include "core/table/board.h"

namespace rate_limit {

/// The overrides of a machine, in memory that processes share and that outlives them: one for each subject.
class OverrideTable {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// However much memory there is.
    static constexpr std::size_t most = 1000;

    /// Bytes for so many overrides.
    static constexpr std::size_t bytes_for(std::size_t overrides) noexcept {
        return Overrides::bytes_for(overrides);
    }

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. False: there
    /// is no room for one override.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept {
        return board_.use(memory, size, most, user) && capacity() != 0;
    }

    /// How many overrides fit.
    std::size_t capacity() const noexcept { return board_.places(); }

    /// Changes with each change of the table. Cheap: one load.
    std::uint64_t generation() const noexcept { return board_.generation(); }

    /// Sets it in place of the one that its subject has. False if there is no room, and then nothing changes.
    [[nodiscard]] bool put(const Override& what, Millis now) noexcept;

    /// Sets the whole of what all machines of a store share, if this version of it is news to `state`: those
    /// of before that are not among them end. What was set later on this machine alone stays in their place.
    /// Returns how many there was no room for; nothing where it is no news. Throws std::bad_alloc.
    std::optional<std::size_t> put_shared(std::uint64_t store, const std::vector<Override>& all,
                                          SharedState& state, const SharedVersion& version, Millis now);

    /// Whether put() would find room now.
    bool has_room(const OverrideSubject& subject, Millis now) const noexcept {
        return place_for(subject, now) != Overrides::none;
    }

    /// Whether there is room now for one of any subject.
    bool has_free_place(Millis now) const noexcept { return free_place(now) != Overrides::none; }

    /// Ends the override of this subject. False: it has none.
    bool remove(const OverrideSubject& subject, Millis now) noexcept;

    /// Frees the places of those that have ended.
    void tidy(Millis now) noexcept;

    /// Those that have not ended, one for each subject. Throws std::bad_alloc.
    std::vector<Override> read(Millis now) const;

    /// Those among them that the machines of a store share, with the texts of their keys.
    std::vector<Override> read_shared(std::uint64_t store, Millis now) const;

    /// Says for all processes whether the text of keys is kept and read; at first it is not. False also
    /// erases what has been kept, but for what machines share: of that a machine may have to tell Redis
    /// again.
    void keep_texts(bool keep) noexcept;

private:
    /// The head says whether texts are kept.
    using Overrides = Board<Override, std::atomic<bool>>;

    std::size_t free_place(Millis now) const noexcept;
    std::size_t place_for(const OverrideSubject& subject, Millis now) const noexcept;
    bool keeps_texts() const noexcept { return board_.head().load(std::memory_order_relaxed); }

    Overrides board_;
};

}  // namespace rate_limit
