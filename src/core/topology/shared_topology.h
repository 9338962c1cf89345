#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/table/owned_lock.h"

namespace rate_limit {

/// A store's servers, as one process of a machine has found them out, in memory that all processes share; and
/// the process that asks for them. A process that dies in the middle of anything leaves memory that others go
/// on with. Each configuration has an object of its own, of which its processes have copies.
class SharedTopology {
public:
    static constexpr std::size_t alignment = 64;

    enum class Publication : unsigned char { done, no_room, no_turn };

    /// Lays out memory that is all zero. False if it is too small for anything.
    [[nodiscard]] bool create(void* memory, std::size_t size) noexcept;

    /// Takes up memory of create(), for a newer configuration. False: another version of this class has laid
    /// it out.
    [[nodiscard]] bool attach(void* memory, std::size_t size) noexcept;

    /// Says which process this is: called in each process.
    void set_user(const LockUser& user) noexcept { user_ = user; }

    /// Changes with each publication; 0: there was none.
    std::uint64_t generation() const noexcept { return header_->generation.load(std::memory_order_acquire); }

    /// The bytes that were published last, and their generation. False: there are none, or the process that
    /// published them died before it was done. Throws std::bad_alloc.
    bool read(std::string& bytes, std::uint64_t& generation) const;

    /// Only for the process that took the turn last: what another one has found meanwhile is newer.
    Publication publish(std::string_view bytes) noexcept;

    /// True: this process asks, for `length` milliseconds from now on. The turn is free, or run out, or this
    /// process has it already, or the process that has it is dead, or is of an older configuration: that one
    /// may name other servers to ask, and its processes may stay for hours. `now` in milliseconds of a clock
    /// that all processes share, modulo 2^32.
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
        std::atomic<std::uint32_t> configurations;  // so many there were
        OwnedLock lock;                             // guards all that follows, and the bytes behind it
        std::uint64_t whole;
        std::uint64_t size;
        std::uint64_t asker;          // the process that asks, as OwnedLock::word_of()
        std::uint64_t until;          // low half
        std::uint64_t configuration;  // the asker's
    };

    /// Changes with the layout.
    static constexpr std::uint64_t version = 0x746f706f6c6f6734;

    void begin_configuration() noexcept {
        configuration_ = header_->configurations.fetch_add(1, std::memory_order_relaxed) + 1;
    }
    bool has_turn() const noexcept {
        return header_->asker == OwnedLock::word_of(user_.self) && header_->configuration == configuration_;
    }
    char* bytes() const noexcept { return reinterpret_cast<char*>(header_ + 1); }

    LockUser user_;
    Header* header_ = nullptr;
    std::size_t room_ = 0;
    std::uint32_t configuration_ = 0;  // counted from 1
};

}  // namespace rate_limit
