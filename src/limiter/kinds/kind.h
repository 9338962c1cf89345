#pragma once

#include <cstdint>

#include "limiter/kinds/applied_limit.h"

namespace rate_limit {

/// Whether a request may pass under one limit.
enum class Admission : unsigned char {
    admitted,   ///< and it holds its part of the window until it is settled
    refused,    ///< the limit is reached
    unchecked,  ///< nobody can say; AppliedLimit::failure tells why
};

/// Kinds are what limits count by: windows, token buckets or slots of running requests; and what this machine
/// remembers of one, whichever mode counts. Each function is one or two steps under the lock of one record;
/// nothing here waits. Stateless.
class Kind {
public:
    constexpr Kind() = default;
    Kind(const Kind&) = delete;
    Kind& operator=(const Kind&) = delete;

    /// Lets the request in, if that `need`s no more than is left, by what this machine remembers: its store
    /// does not answer.
    virtual Admission enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept = 0;

    /// Takes in the answer for a request that is refused whatever it says. The verdict gets that window.
    virtual void take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept = 0;

    /// The verdict gets the window that is remembered. False: none is open, as far as its store has said.
    virtual bool show_remembered(AppliedLimit& applied, Millis now) const noexcept = 0;

    /// Whether the primary has told this machine of the window within the last second, so that a report need
    /// not ask. Always true of a local window.
    virtual bool is_known(AppliedLimit& applied, Millis now) const noexcept = 0;

    /// The verdict gets the window as a report shows it: what is remembered, with this answer taken in if it
    /// is not null; where no window is open, the one that would be proposed. Nothing is changed here.
    virtual void show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) const noexcept = 0;

protected:
    ~Kind() = default;
};

/// Puts the window into the verdict.
void show(AppliedLimit& applied, const Window& window) noexcept;

/// True if Redis has lately said that the limit is reached. May be true of other windows, by chance.
bool may_be_used_up(const AppliedLimit& applied) noexcept;

/// Makes later requests look at the record before they ask.
void note_used_up(AppliedLimit& applied, Millis now) noexcept;

}  // namespace rate_limit
