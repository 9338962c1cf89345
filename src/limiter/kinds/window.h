#pragma once

#include <cstdint>
#include <optional>

#include "core/limit/window.h"
#include "core/machine/windows/window_account.h"
#include "limiter/kinds/kind.h"

namespace rate_limit {

extern const NamedKind first_windows;
extern const NamedKind clock_windows;
extern const NamedKind local_windows;

/// Windows that count costs.
class WindowsKind final : public Kind {
public:
    constexpr WindowsKind() = default;

    Admission enter_unasked(AppliedLimit& applied, std::int64_t need, Millis now) const noexcept override;
    void take_in(AppliedLimit& applied, const Window& answer, Millis now) const noexcept override;
    bool show_remembered(AppliedLimit& applied, Millis now) const noexcept override;
    bool is_known(AppliedLimit& applied, Millis now) const noexcept override;
    void show_unchanged(AppliedLimit& applied, const Window* answer, Millis now) const noexcept override;
    Remembered remembered(const KeyWindow& of, const Record& record, Millis now) const noexcept override;
    Window shown(const KeyWindow& of, const Window& answer, Millis now) const noexcept override;
    void give_back(const KeyWindow& of, WindowTable& table, std::int64_t cost, Window& before,
                   Window& after) const noexcept override;
};

inline constexpr WindowsKind windows_kind;

/// Terms of this limit for its record: rate, where the truth is, end of a new window, time. Of a store with
/// regions the rate is what the other ones leave, which may be less than nothing.
Terms terms_of(const AppliedLimit& applied, Millis now) noexcept;

/// Whether the limit leaves so much, with so much taken here, and what other regions have used.
bool leaves(const AppliedLimit& applied, std::int64_t taken, std::int64_t need) noexcept;

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

/// The result of enter_fresh().
struct Entered {
    bool admitted = false;
    std::optional<WindowRecord> known;  ///< the window, if it is open and did not let the request in
};

/// Lets the request into a window of Redis if the primary's last answer to a charge may stand for a check,
/// for so many milliseconds, 0: never.
Entered enter_fresh(AppliedLimit& applied, const Entry& entry, Millis freshness, Millis now) noexcept;

/// Takes in the word, and lets the request in if there is room. Unless `unchecked`, for want of room in the
/// memory, the verdict gets the window as known here, without this request.
Admission enter_window(AppliedLimit& applied, const Entry& entry, const Word& word, Millis now) noexcept;

/// The circumstances of the question that the primary has answered.
Question question_of(const AppliedLimit& applied) noexcept;

/// Gives back what the request holds in the memory of this machine, in flight or reserved in a local window.
void give_back_here(AppliedLimit& applied, const Holding& holding) noexcept;

}  // namespace rate_limit
