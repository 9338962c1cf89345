#pragma once

#include <cstdint>
#include <optional>

namespace rate_limit {

// How near a server is, by how long it takes to answer. All times are microseconds of any one clock that
// never goes back.

/// How long one server takes to answer. The first answer counts whole, each further one by an eighth, as in
/// RFC 6298. What has not been measured for half a second is old: the next answer counts whole again, so that
/// one answer a second is enough to follow a server that has become slow, or quick.
class AnswerTime {
public:
    static constexpr std::uint64_t old_after = 500'000;

    void add(std::uint64_t took, std::uint64_t now) noexcept {
        eighths_ = eighths_ && now - *added_ < old_after ? *eighths_ - *eighths_ / 8 + took : 8 * took;
        added_ = now;
    }

    void forget() noexcept { eighths_.reset(); }

    /// None: it has not answered yet.
    std::optional<std::uint64_t> smoothed() const noexcept {
        return eighths_ ? std::optional(*eighths_ / 8) : std::nullopt;
    }

    /// When it was last measured, also before it was forgotten; none: never.
    std::optional<std::uint64_t> added() const noexcept { return added_; }

private:
    std::optional<std::uint64_t> eighths_;
    std::optional<std::uint64_t> added_;
};

/// The longest time of a server that is as near as the nearest one, which takes `best`: at the same place,
/// servers differ by that much, and by chance.
constexpr std::uint64_t still_near(std::uint64_t best) noexcept {
    constexpr std::uint64_t slack = 300;
    return best + best / 2 + slack;
}

}  // namespace rate_limit
