#pragma once

#include <array>
#include <string>

#include "limiter/request/limited_request.h"

namespace rate_limit {

// A request is told this of its limits. A report says what a client may spend: it charges nothing, and
// decides nothing.

/// Asks the stores of all limits of which this machine does not know enough.
void ask_for_report(LimitedRequest& request) noexcept;

/// Takes in the answers. False: of some limit there is none, and what this machine knows must not stand for
/// it; or there is no limit.
bool take_reported(LimitedRequest& request) noexcept;

/// The limits, of which there is one, as JSON. Throws std::bad_alloc.
std::string write_report(const LimitedRequest& request);

/// The log line of a limit that has rejected the request, or would have without its dry run.
class Rejection {
public:
    Rejection(const LimitedRequest& request, const AppliedLimit& applied) noexcept;

    const char* text() const noexcept { return text_.data(); }

private:
    std::array<char, 400> text_;
};

/// The log line of a penalty that began with this request.
class PenaltyBegin {
public:
    PenaltyBegin(const LimitedRequest& request, const AppliedLimit& applied) noexcept;

    const char* text() const noexcept { return text_.data(); }

private:
    std::array<char, 300> text_;
};

}  // namespace rate_limit
