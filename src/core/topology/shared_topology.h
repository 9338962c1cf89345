#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/table/owned_lock.h"

namespace rate_limit {

/// What one process of a machine has found out about a store's servers, in memory that all processes share;
/// and which process asks for it. A process that dies in the middle of anything leaves memory that others go
/// on with.
class SharedTopology {
public:
    static constexpr std::size_t alignment = 64;

    /// Lays out memory that is all zero. False if it is too small for anything.
    [[nodiscard]] bool create(void* memory, std::size_t size) noexcept;

    /// Takes up memory of create(). False: another version of this class has laid it out.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept;

    /// Says which process this is: called in each process.
    void set_user(const LockUser& user) noexcept { user_ = user; }

    /// Changes with each publication; 0: there was none.
    std::uint64_t generation() const noexcept { return header_->generation.load(std::memory_order_acquire); }

    /// The bytes that were published last, and their generation. False: there are none, or the process that
    /// published them died before it was done. Throws std::bad_alloc.
    bool read(std::string& bytes, std::uint64_t& generation) const;

    /// False if the bytes find no room.
    bool publish(std::string_view bytes) noexcept;

    /// True: this process asks, for `length` milliseconds from now on. The turn is free, or run out, or this
    /// process has it already, or the process that has it is dead. `now` in milliseconds of a clock that all
    /// processes share, modulo 2^32.
    bool take_turn(std::uint32_t now, std::uint32_t length) noexcept;

    /// This process asks no more.
    void leave_turn() noexcept;

    /// Some process has seen that what is published may not hold any more. The process that asks compares the
    /// count.
    void hint() noexcept { header_->hints.fetch_add(1, std::memory_order_relaxed); }
    std::uint32_t hints() const noexcept { return header_->hints.load(std::memory_order_relaxed); }

private:
    struct alignas(alignment) Header {
        std::atomic<std::uint64_t> layout;
        std::atomic<std::uint64_t> generation;
        std::atomic<std::uint32_t> hints;
        OwnedLock lock;  // of all that follows, and of the bytes behind it
        std::uint64_t whole;
        std::uint64_t size;
        std::uint64_t asker;  // as OwnedLock::word_of()
        std::uint64_t until;  // low half
    };

    /// Changes with the layout.
    static constexpr std::uint64_t version = 0x746f706f6c6f6731;

    char* bytes() const noexcept { return reinterpret_cast<char*>(header_ + 1); }

    LockUser user_;
    Header* header_ = nullptr;
    std::size_t room_ = 0;
};

}  // namespace rate_limit
