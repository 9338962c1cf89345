#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <variant>

#include "core/table/layout_mark.h"
#include "core/table/owned_lock.h"

namespace rate_limit {

/// Records that are seldom written, in memory that processes share and that outlives them. One process writes
/// at a time; reading waits for nobody, and gives a record as a whole. A process that dies while it writes
/// leaves each record as it was before or as it is after.
///
/// There is one cell more than records. A record is written into the spare cell; then one store to the
/// record's word, which says in which cell it lies, makes that cell the record's and the one of before the
/// spare one. So a cell is written only after the word of the record that was there has changed, and a reader
/// sees by the word, before and after, whether it has read a record.
///
/// A Record is plain data. All zero bytes are records of zero bytes. A Head is what lies beside the records:
/// atomics that any process may change without the lock.
template <typename Record, typename Head = std::monostate>
class Board {
    using Word = std::atomic<std::uint64_t>;

    /// The words of a record, or of the Part with which it begins.
    template <typename Part = Record>
    using Copy = std::array<std::uint64_t, sizeof(Part) / sizeof(Word)>;

    using Cell = std::array<Word, sizeof(Record) / sizeof(Word)>;
    static_assert(std::is_trivially_copyable_v<Record> && sizeof(Record) == sizeof(Cell));

    struct Header {
        OwnedLock lock;  // held by the process that writes
        std::atomic<std::uint64_t> generation;
        Head head;
    };

public:
    class Writing;

    static constexpr std::size_t alignment = LayoutMark::alignment;

    /// The place of a record that there is not.
    static constexpr std::size_t none = ~std::size_t{0};

    /// Bytes for so many records, of which there are less than 65,536.
    static constexpr std::size_t bytes_for(std::size_t records) noexcept {
        return sizeof(Header) + records * sizeof(Word) + (records + 1) * sizeof(Cell);
    }

    /// Memory that is all zero at first, for at most so many records, perhaps none; each process calls this
    /// as `user`, with the same other arguments. False: it is too small even for none.
    [[nodiscard]] bool use(void* memory, std::size_t size, std::size_t most, const LockUser& user) noexcept {
        if (!LayoutMark::fits(memory, size, bytes_for(0))) {
            return false;
        }
        user_ = user;
        places_ = std::min(most, (size - bytes_for(0)) / (sizeof(Word) + sizeof(Cell)));
        header_ = static_cast<Header*>(memory);
        words_ = reinterpret_cast<Word*>(header_ + 1);
        cells_ = reinterpret_cast<Cell*>(words_ + places_);
        return true;
    }

    /// How many records there are.
    std::size_t places() const noexcept { return places_; }

    Head& head() const noexcept { return header_->head; }

    /// Changes with each write. What was written before it changed is read after it was read.
    std::uint64_t generation() const noexcept { return header_->generation.load(std::memory_order_acquire); }

    /// A record, or the Part with which it begins.
    template <typename Part = Record>
    Part read(std::size_t at) const noexcept {
        Copy<Part> copy{};
        static_assert(std::is_trivially_copyable_v<Part> && sizeof(Part) == sizeof(copy));
        std::uint64_t seen = 0;
        std::uint64_t word = words_[at].load(std::memory_order_acquire);
        while (word != seen) {
            seen = word;
            const Cell& cell = cells_[cell_of(at, word)];
            for (std::size_t i = 0; i < copy.size(); ++i) {
                copy[i] = cell[i].load(std::memory_order_relaxed);
            }
            std::atomic_thread_fence(std::memory_order_acquire);
            word = words_[at].load(std::memory_order_acquire);
        }
        Part part;
        std::memcpy(static_cast<void*>(&part), copy.data(), sizeof part);
        return part;
    }

    /// The first place whose record is_it(Part) takes for the one that is sought, or none.
    template <typename Part = Record, typename IsIt>
    std::size_t find(IsIt&& is_it) const {
        std::size_t at = 0;
        while (at < places_ && !is_it(read<Part>(at))) {
            ++at;
        }
        return at < places_ ? at : none;
    }

    /// Calls fn(place, Part) for each record that was ever written.
    template <typename Part = Record, typename Fn>
    void for_each(Fn&& fn) const {
        for (std::size_t at = 0; at < places_; ++at) {
            if (words_[at].load(std::memory_order_relaxed) != 0) {
                fn(at, read<Part>(at));
            }
        }
    }

    /// Writes what fn(Record&) makes of a record. Where it returns false nothing changes, and nobody is
    /// waited for; else it is called once more, and its last result returned.
    template <typename Fn>
    bool change(std::size_t at, Fn&& fn) {
        Record record = read(at);
        if (!fn(record)) {
            return false;
        }
        Writing writing(*this);
        record = read(at);
        const bool changed = fn(record);
        if (changed) {
            writing.write(at, record);
        }
        return changed;
    }

private:
    // A word: how often the record was written, and in which cell it lies, counted from its own place.
    static constexpr unsigned cell_bits = 16;
    static constexpr std::uint64_t cell_mask = (1U << cell_bits) - 1;

    static std::size_t cell_of(std::size_t at, std::uint64_t word) noexcept {
        return at ^ static_cast<std::size_t>(word & cell_mask);
    }

    LockUser user_;
    Header* header_ = nullptr;
    Word* words_ = nullptr;
    Cell* cells_ = nullptr;
    std::size_t places_ = 0;
};

/// Writes records: one process at a time. Others wait for this object's end.
template <typename Record, typename Head>
class Board<Record, Head>::Writing {
public:
    /// The cell that no word names is the spare one. A process that died may have written a record and not
    /// said so.
    explicit Writing(Board& board) noexcept : board_(board), spare_(board.places_) {
        if (lock_.acquire(board.header_->lock, board.user_)) {
            board.header_->generation.fetch_add(1, std::memory_order_release);
        }
        for (std::size_t at = 0; at < board.places_; ++at) {
            spare_ ^= static_cast<std::size_t>(board.words_[at].load(std::memory_order_acquire) & cell_mask);
        }
    }
    Writing(const Writing&) = delete;
    Writing& operator=(const Writing&) = delete;

    /// Nothing stays of what was replaced.
    ~Writing() { fill_spare({}); }

    void write(std::size_t at, const Record& record) noexcept {
        Copy<> copy;
        std::memcpy(copy.data(), &record, sizeof record);
        fill_spare(copy);
        Word& word = board_.words_[at];
        const std::uint64_t before = word.load(std::memory_order_relaxed);
        word.store(((before >> cell_bits) + 1) << cell_bits | (at ^ spare_), std::memory_order_release);
        board_.header_->generation.fetch_add(1, std::memory_order_release);
        spare_ = cell_of(at, before);
    }

private:
    /// A reader of one of these words has to see that the cell is not the record's any more.
    void fill_spare(const Copy<>& words) noexcept {
        std::atomic_thread_fence(std::memory_order_release);
        for (std::size_t i = 0; i < words.size(); ++i) {
            board_.cells_[spare_][i].store(words[i], std::memory_order_relaxed);
        }
    }

    Board& board_;
    HeldLock lock_;
    std::size_t spare_;
};

}  // namespace rate_limit
