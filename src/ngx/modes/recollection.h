#pragma once

#include <cstdint>

#include "core/limit/decision.h"
#include "core/limit/window.h"
#include "core/machine/window_account.h"
#include "ngx/request/context.h"

namespace rate_limit {

/// One limit of one request and what this machine remembers of its window. Each function is one or two steps
/// under the lock of one set; nothing here waits.

/// What it is asked under now.
Terms terms_of(const AppliedLimit& applied, const Verdict& verdict, Millis now) noexcept;

/// What is remembered is to be looked at before a store is asked: it may well decide.
bool looks_up_first(const AppliedLimit& applied) noexcept;

/// Looks before any store is asked, or when none has answered. Where the limit is reached, the verdict gets
/// the window.
Recalled recall(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept;

/// Whose word on the window comes with a request.
enum class Source : unsigned char {
    memory,   ///< nobody's: what is remembered decides
    node,     ///< any node's, perhaps older than what is remembered
    primary,  ///< the primary's, asked by a request that recalled Recalled::to_confirm
};

enum class Admission : unsigned char {
    admitted,  ///< and counted here until it is charged or given back
    refused,   ///< the limit is reached
    no_room,   ///< the memory is full and says nothing
};

/// Takes in the answer, and lets the request in if there is room under its limit. Unless `no_room`, the
/// verdict gets the window as known here, without this request.
Admission admit(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, const Window& answer,
                Source source, Millis now) noexcept;

/// Takes in the answer for a request that is refused whatever it says. The verdict gets that window.
void take_in(AppliedLimit& applied, Verdict& verdict, const Window& answer, Millis now) noexcept;

/// Takes in the answer to a reservation. The verdict gets the window as stored, without this request.
Admission take_grant(AppliedLimit& applied, Verdict& verdict, std::int64_t cost, Millis now) noexcept;

/// What was granted after the request had gone on without it is held from now on. False: nothing was.
bool take_late_grant(AppliedLimit& applied) noexcept;

/// The verdict gets the window that is remembered. False: none is open, as far as its store has said.
bool recollect(const AppliedLimit& applied, Verdict& verdict, Millis now) noexcept;

/// The request leaves a local limit: `cost` is what it is charged in all.
void charge_local(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept;

/// What a charge is told about the window it goes to.
struct Sending {
    Millis reset = 0;   ///< of the window, or proposed; may have passed
    bool open = false;  ///< Redis has said that it is open
    Receipt receipt;
};

/// The request leaves a limit of a Redis store, and a charge, not of 0, is about to set out.
Sending send_charge(AppliedLimit& applied, const Verdict& verdict, std::int64_t cost, Millis now) noexcept;

}  // namespace rate_limit
