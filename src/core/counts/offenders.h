#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/limit/window.h"
#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// The keys that limits reject most often, in memory that processes share and that outlives them.
///
/// Each process has an area of its own with a fixed number of keys, counted by the rule of find_key(). So a
/// key with more than 1/64 of a process's rejections has a place, however many others there are, and none
/// costs more than a look at 64 places. Rejections are counted for ten minutes, the generation; what is read
/// is the running generation and the one before, of all areas.
///
/// A process writes to its area alone. A new process takes the area of a dead one, with what is in it. While
/// processes find no area free, their rejections have no key.
///
/// The text of keys is kept only while keep_keys() says so.
class Offenders {
public:
    static constexpr std::size_t alignment = LayoutMark::alignment;
    static constexpr std::size_t most_keys = 64;   ///< keys that an area has in a generation
    static constexpr std::size_t most_text = 128;  ///< bytes of a key that are kept
    static constexpr std::size_t most_shown = 512;
    static constexpr Millis generation = 600'000;

    struct Rejection {
        std::uint64_t id;     ///< a keyed digest of the key at the limit
        std::uint64_t limit;  ///< names the limit
        bool dry_run;
        std::string_view key;
    };

    /// The counts of a key at a limit.
    struct Counted {
        std::uint64_t id = 0;
        std::uint64_t limit = 0;
        std::uint64_t rejected = 0;  ///< dry runs, too
        std::uint64_t over = 0;      ///< how many too many `rejected` can be
        std::uint64_t dry_run = 0;   ///< dry runs among `rejected`, at least
        Millis last = 0;             ///< when it was last rejected

        /// Rejections that are certain.
        std::uint64_t certain() const noexcept { return rejected - over; }
    };

    /// A key at a limit, as all areas together have it.
    struct Offender : Counted {
        std::string key;   ///< empty: not kept
        bool cut = false;  ///< `key` is only the beginning
    };

    struct Report {
        Millis since = 0;
        std::uint64_t total = 0;     ///< rejections since then, of all keys
        std::vector<Offender> keys;  ///< those that have certainly been rejected most often, the first first
    };

    /// Bytes that give so many workers, and as many leaving ones, an area of most_keys each.
    static std::size_t bytes_for(std::size_t workers) noexcept;

    /// Memory that was all zero at the time `since`; each process calls this as `user`, with the same other
    /// arguments. In less than bytes_for() there are fewer areas, but one for each worker while an area has
    /// eight keys or more. False: there is not even room for the count of all.
    [[nodiscard]] bool use(void* memory, std::size_t size, const LockUser& user, std::size_t workers,
                           Millis since) noexcept;

    std::size_t areas() const noexcept { return areas_; }

    /// How many keys an area has in a generation.
    std::size_t keys() const noexcept { return keys_; }

    /// Says for all processes whether the text of keys is kept. False also erases what has been kept.
    void keep_keys(bool keep) noexcept;

    void note(const Rejection& rejection, Millis now) noexcept;

    /// All that has been noted in the generation of `now` and in the one before. Reads in other processes'
    /// areas while they write: what changes just then may be missing. Throws std::bad_alloc.
    Report read(Millis now) const;

private:
    struct alignas(alignment) Header {
        std::atomic<std::uint32_t> keeps_keys;
    };

    /// Rejections that processes without an area have noted: the one line that several write.
    struct alignas(alignment) Keyless {
        std::array<std::atomic<std::uint64_t>, 2> words;  // by the generation, as keyless_word()
    };

    /// A place of an area. Its id and its count lie beside those of the others.
    struct Place {
        std::atomic<std::uint32_t> sequence;  // odd while the place changes hands
        std::atomic<std::uint32_t> over;
        std::atomic<std::uint32_t> dry_run;
        std::atomic<std::uint32_t> size;  // bytes of the text, perhaps with the bit `cut_bit`
        std::atomic<std::uint64_t> limit;
        std::atomic<Millis> last;
        std::array<std::atomic<std::uint64_t>, most_text / sizeof(std::uint64_t)> text;
    };

    /// The part of an area that is for one generation. Behind it lie the ids, the counts, and the rest of the
    /// places.
    struct alignas(alignment) Half {
        std::atomic<std::uint64_t> period;  // which generation; 0: none, or it is being made empty
        std::atomic<std::uint64_t> total;
    };

    /// A half as one process sees it.
    struct View {
        Half* half = nullptr;
        std::atomic<std::uint64_t>* ids = nullptr;  // 0: nobody's
        std::atomic<std::uint32_t>* rejected = nullptr;
        Place* places = nullptr;
    };

    static constexpr std::uint32_t cut_bit = 0x80000000;
    static constexpr std::size_t least_keys = 8;
    static constexpr std::size_t none = ~std::size_t{0};
    static constexpr Millis pause_between_claims = 1000;

    static std::size_t half_bytes(std::size_t keys) noexcept;
    static std::size_t header_bytes(std::size_t areas) noexcept;
    static std::uint64_t period_of(Millis now) noexcept {
        return static_cast<std::uint64_t>(now / generation);
    }
    /// Rejections of a generation that have no key, in one word.
    static std::uint64_t keyless_word(std::uint64_t period, std::uint64_t count) noexcept {
        return period << 40U | count;
    }

    View view(std::size_t area, std::uint64_t period) const noexcept;
    bool claim(Millis now) noexcept;
    void mend(std::size_t area) noexcept;
    void begin(const View& view, std::uint64_t period) noexcept;
    void take(const View& view, std::size_t at, const Rejection& rejection) noexcept;
    void write_text(Place& place, std::string_view key) noexcept;
    void erase_text(Place& place) noexcept;
    void note_keyless(std::uint64_t period) noexcept;
    /// A place as it was read; and where it is, for its text.
    struct Found : Counted {
        const std::atomic<std::uint64_t>* holder = nullptr;  // the id of the place
        const Place* place = nullptr;
        bool has_text = false;
    };

    template <typename Read>
    static bool read_steadily(const Place& place, Read&& read);
    static bool read_place(const View& view, std::size_t at, Found& found) noexcept;
    static Offender offender_of(const Found& found);
    void read_half(std::size_t half, std::uint64_t now, std::vector<Found>& found,
                   std::uint64_t& total) const;
    static void merge(std::vector<Found>& found);

    LockUser user_;
    Header* header_ = nullptr;
    Keyless* keyless_ = nullptr;
    std::atomic<std::uint64_t>* owners_ = nullptr;  // each area's process, as OwnedLock::word_of()
    char* halves_ = nullptr;
    std::size_t areas_ = 0;
    std::size_t keys_ = 0;
    Millis since_ = 0;
    std::size_t area_ = none;   // this process's, claimed with its first rejection
    std::uint64_t period_ = 0;  // the generation that it last noted in; 0: none
    View own_;                  // the half of that generation
    Millis tried_ = -1;         // when it last looked for one
};

}  // namespace rate_limit
