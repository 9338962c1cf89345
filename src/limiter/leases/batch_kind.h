#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/window.h"
#include "limiter/kinds/owed/demand.h"

namespace rate_limit {

class Fetch;
class Fetches;

/// A kind of limits, as far as kinds differ in tokens that are fetched from the primary, a batch at a time.
/// The demand of a fetch tells which. Stateless.
class BatchKind {
public:
    constexpr BatchKind() = default;
    BatchKind(const BatchKind&) = delete;
    BatchKind& operator=(const BatchKind&) = delete;

    /// Whether a fetch for `more` takes the place of this one, in which requests may take seats.
    virtual bool gives_way(const Fetch& open, const Demand& more) const noexcept = 0;

    /// Whether its tokens may be dead when they come: they are for those alone that wait already.
    virtual bool is_old(const Fetch& /*fetch*/) const noexcept { return false; }

    /// Decides how many tokens to ask for, in its demand, which is still that of the request. `batched`: more
    /// may be asked for than the request needs, and this fetch is the one in which others take seats.
    virtual void size_up(Fetches& of, Fetch& fetch, bool batched) const noexcept = 0;

    /// False: others have begun so many meanwhile that no request needs this one ahead.
    virtual bool may_go_ahead(const Fetch& /*fetch*/) const noexcept { return true; }

    /// It got no answer.
    virtual void end(Fetches& of, const Fetch& fetch) const noexcept = 0;

    /// Hands out what the primary granted, and puts the fetch back.
    virtual void hand_out(Fetches& of, Fetch& fetch, std::int64_t granted,
                          const Window& answer) const noexcept = 0;

protected:
    ~BatchKind() = default;
};

/// That of the demand's kind; defined beside the kinds.
const BatchKind& batches_of(const Demand& demand) noexcept;

}  // namespace rate_limit
