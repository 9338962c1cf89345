#pragma once

#include <cstdint>
#include <optional>

#include "core/limit/window.h"
#include "core/machine/window_account.h"
#include "limiter/modes/mode.h"

namespace rate_limit {

/// The memory that this machine has of the window of one limit of one request, as the modes use it. Each
/// function is one or two steps under the lock of one record; nothing here waits.

/// Terms of this limit for its record: rate, where the truth is, end of a new window, time.
Terms terms_of(const AppliedLimit& applied, Millis now) noexcept;

/// Puts the window into the verdict.
void show(AppliedLimit& applied, const Window& window) noexcept;

/// Puts the bucket into the verdict as this record has it. Tokens at hand are not taken, nor is what the
/// request `holds`.
void show_bucket(AppliedLimit& applied, const WindowRecord& record, std::int64_t holds, Millis now) noexcept;

/// True if Redis has lately said that the limit is reached. May be true of other windows, by chance.
bool may_be_used_up(const AppliedLimit& applied) noexcept;

/// Makes later requests look at the record before they ask.
void note_used_up(AppliedLimit& applied, Millis now) noexcept;

/// The record of the window, if it is open.
std::optional<WindowRecord> open_window(AppliedLimit& applied, Millis now) noexcept;

/// Whether the window of this record leaves less than `need`.
bool is_full(const AppliedLimit& applied, const WindowRecord& record, std::int64_t need) noexcept;

/// The record of the window, if it is open and leaves less than `need`.
std::optional<WindowRecord> full_window(AppliedLimit& applied, std::int64_t need, Millis now) noexcept;

/// The window of this record leaves less than `need`: the verdict gets it, and how many requests that run
/// fill it.
Recalled reject_by(AppliedLimit& applied, const WindowRecord& record, std::int64_t need) noexcept;

/// The limit is reached, as far as this machine knows of a window of Redis: the request is rejected by that,
/// unless it is its turn to ask the primary, or unless charges are in it that Redis has not taken.
Recalled confirm_or_reject(AppliedLimit& applied, const WindowRecord& record, std::int64_t need,
                           Millis now) noexcept;

/// The origin of the word on a window.
enum class Source : unsigned char {
    memory,   ///< this machine: what is remembered decides
    node,     ///< any node: perhaps older than what is remembered
    primary,  ///< the primary, asked by a request that recalled Recalled::to_confirm
};

struct Word {
    Source source = Source::memory;
    Window window;
    Millis known = 0;  ///< as learn() has it
};

/// How a request enters a window: it `need`s so much to be left, and holds it as a holding of this kind,
/// in_flight or reserved, until it is settled.
struct Entry {
    std::int64_t need;
    Holding::Kind kind;
};

/// Takes in the word, and lets the request in if there is room. Unless `unchecked`, for want of room in the
/// memory, the verdict gets the window as known here, without this request.
Admission enter_window(AppliedLimit& applied, const Entry& entry, const Word& word, Millis now) noexcept;

/// Lets the request in, if there is room, by what this machine remembers: its store does not answer.
Admission enter_unasked(AppliedLimit& applied, Millis now) noexcept;

/// Takes the request's cost from the bucket as this machine knows it, if the tokens are there: `reserved`
/// from one of this machine, `in_flight` in place of a store that does not answer. The same as enter_window()
/// else.
Admission enter_bucket(AppliedLimit& applied, Holding::Kind kind, Millis now) noexcept;

/// There is no room to remember the window: what the node answered decides.
Admission by_answer_alone(AppliedLimit& applied, const Window& answer, Millis now) noexcept;

/// The store was asked and has not answered. The request is refused if this machine knows that the limit is
/// reached.
Admission without_answer(AppliedLimit& applied, Millis now) noexcept;

/// Takes in the answer for a request that is refused whatever it says. The verdict gets that window.
void take_in(AppliedLimit& applied, const Window& answer, Millis now) noexcept;

/// The verdict gets the window that is remembered. False: none is open, as far as its store has said.
bool show_remembered(AppliedLimit& applied, Millis now) noexcept;

/// Whether the primary has told this machine of the window within the last second, so that a report need not
/// ask. Always true of a local window.
bool is_known(AppliedLimit& applied, Millis now) noexcept;

/// The verdict gets the window as a report shows it: what is remembered, with this answer taken in if it is
/// not null; where no window is open, the one that would be proposed. Nothing is changed here.
void show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) noexcept;

/// The circumstances of the question that the primary has answered.
Question question_of(const AppliedLimit& applied) noexcept;

/// Gives back what the request holds in the memory of this machine, in flight or reserved in a local window.
void give_back_here(AppliedLimit& applied, const Holding& holding) noexcept;

}  // namespace rate_limit
