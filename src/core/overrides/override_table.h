#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/overrides/override.h"
#include "core/overrides/shared_state.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// The overrides of a machine, in memory that processes share and that outlives them: one for each subject.
///
/// One process writes at a time. A process that dies while it writes leaves the override of before, and
/// perhaps the new one beside it: then the new one holds. Reading waits for nobody.
class OverrideTable {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// However much memory there is.
    static constexpr std::size_t most = 1000;

    /// Bytes for so many overrides.
    static std::size_t bytes_for(std::size_t overrides) noexcept;

    /// Memory that is all zero at first; each process calls this as `user`, with the same size. False: there
    /// is no room for one override.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user) noexcept;

    /// How many overrides fit.
    std::size_t capacity() const noexcept { return places_ - 1; }

    /// Changes with each change of the table. Cheap: a relaxed load.
    std::uint64_t generation() const noexcept { return header_->generation.load(std::memory_order_relaxed); }

    /// The generation, read so that what changed until then can be read, too.
    std::uint64_t settled_generation() const noexcept {
        return header_->generation.load(std::memory_order_acquire);
    }

    /// Sets it in place of the one that its subject has. False if there is no room, and then nothing changes.
    [[nodiscard]] bool put(const Override& what, Millis now) noexcept;

    /// Sets the whole of what all machines of a store share, if `version` of it is news to `state`: those of
    /// before that are not among them end. Returns how many there was no room for; nothing where it is no
    /// news. Throws std::bad_alloc.
    std::optional<std::size_t> put_shared(std::uint64_t store, const std::vector<Override>& all,
                                          SharedState& state, std::int64_t version, Millis now);

    /// Whether put() would find room now. Throws std::bad_alloc.
    bool has_room(const OverrideSubject& subject, Millis now) const;

    /// Ends the override of this subject. False: it has none.
    bool remove(const OverrideSubject& subject, Millis now) noexcept;

    /// Frees the places of those that have ended.
    void tidy(Millis now) noexcept;

    /// Those that have not ended, one for each subject. While another process replaces one, neither may be
    /// there: then the generation changes. Throws std::bad_alloc.
    std::vector<Override> read(Millis now) const { return read_if(now, std::nullopt); }

    /// Those among them that the machines of a store share, with the texts of their keys.
    std::vector<Override> read_shared(std::uint64_t store, Millis now) const { return read_if(now, store); }

    /// Says for all processes whether the text of keys is kept and read; at first it is not. False also
    /// erases what has been kept, but for what machines share: of that a machine may have to tell Redis
    /// again.
    void keep_texts(bool keep) noexcept;

private:
    struct alignas(alignment) Header {
        std::atomic<std::uint64_t> generation;
        std::atomic<std::uint64_t> last;  // the number of the last override that was set
        std::atomic<std::uint32_t> keeps_texts;
        OwnedLock lock;  // held by the process that writes
    };

    /// A place. It is free where `limit` is 0.
    struct Words {
        std::uint64_t limit;
        std::uint64_t key;
        std::uint64_t store;
        std::uint64_t number;  // the greater of two for one subject holds
        std::int64_t from;
        std::int64_t until;
        std::uint8_t kind;
        std::uint8_t scope;
        std::uint8_t percent;
        std::uint8_t cut;
        std::uint8_t digested;
        std::uint8_t by_size;
        std::uint8_t text_size;
        std::uint8_t unused;
        std::array<char, Override::most_by> by;
        std::array<char, Override::most_key> text;
    };
    static constexpr std::size_t word_count = sizeof(Words) / sizeof(std::uint64_t);
    static_assert(sizeof(Words) % sizeof(std::uint64_t) == 0, "it is copied by words");

    struct Place {
        std::atomic<std::uint64_t> sequence;  // odd while the place is written
        std::array<std::atomic<std::uint64_t>, word_count> words;
    };

    static constexpr std::size_t none = ~std::size_t{0};

    /// The free places, as the owner of the lock sees them.
    struct Room {
        std::size_t used = 0;
        std::size_t next = 0;  // no place before it is free
    };

    static Words words_of(const Override& what) noexcept;
    static bool is_shared(const Words& words) noexcept {
        return words.scope == static_cast<std::uint8_t>(OverrideScope::shared);
    }
    static void forget_text(Words& words) noexcept;
    std::vector<Override> read_if(Millis now, std::optional<std::uint64_t> shared_by) const;
    bool keeps_texts() const noexcept { return header_->keeps_texts.load(std::memory_order_relaxed) != 0; }
    static bool same(Words a, Words b) noexcept;
    std::size_t take_free(Room& room) const noexcept;
    bool replace(const Words& words, std::size_t before, Room& room) noexcept;
    bool read_place(std::size_t at, Words& words) const noexcept;
    void write_place(std::size_t at, const Words& words) noexcept;
    void free_place(std::size_t at) noexcept;
    void drop_replaced() noexcept;
    void begin_change(HeldLock& held, Millis now) noexcept;
    void change() noexcept { header_->generation.fetch_add(1, std::memory_order_release); }

    LockUser user_;
    Header* header_ = nullptr;
    Place* first_ = nullptr;
    std::size_t places_ = 0;  // one more than overrides fit, for the new one of a subject that has one
};

}  // namespace rate_limit
