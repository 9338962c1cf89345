#pragma once

#include <cstddef>
#include <string_view>

#include "limiter/regions/elsewhere.h"
#include "limiter/waits/answer.h"

namespace rate_limit {

class Shard;

/// One read of one window in all regions at the same time. Its answer is that of the region here, and comes
/// when all have answered, or failed, or when check_timeout is over; at once when the region here fails. What
/// the other ones say is in their parts.
class RegionalRead final : public Answer, private Answer::Owner {
public:
    RegionalRead() = default;
    ~RegionalRead() { cancel(); }

    /// `place`: of the window; `from`: how the region here is read; `elsewhere`: the parts of the others,
    /// which outlive this.
    void start(const WindowPlace& place, Read::From from, Elsewhere& elsewhere,
               Answer::Owner& owner) noexcept;

    /// Does as start(), for a report: others may wait for the same reads.
    void start_shared(const WindowPlace& place, const ReadAs& as, Elsewhere& elsewhere,
                      Answer::Owner& owner) noexcept;

    void cancel() noexcept override;

    /// Whether the region here has answered by a node that was the primary then.
    bool by_primary() const noexcept { return elsewhere_->here->read.by_primary(); }

private:
    void on_answer(Answer& answer) noexcept override;
    void deadline_passed() noexcept override;
    void begin_asking(const WindowPlace& place, Elsewhere& elsewhere) noexcept;
    void end_asking(const WindowPlace& place, Answer::Owner& owner) noexcept;
    void finish_if_done() noexcept;
    void finish() noexcept;

    Elsewhere* elsewhere_ = nullptr;
    std::size_t pending_ = 0;
    Route route_ = 0;
    bool busy_ = false;  // the caller looks at what is pending when it is done
};

}  // namespace rate_limit
