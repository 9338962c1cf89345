#pragma once

#include <cstdint>
#include <optional>

#include "core/limit/rate.h"
#include "core/machine/windows/window_account.h"
#include "core/table/window_id.h"

namespace rate_limit {

class Zone;

/// A window in another region, as this machine remembers it: a copy of what its nodes have answered.
struct RemoteWindow {
    Zone* zone = nullptr;  ///< null: nothing is remembered
    WindowId id;           ///< of the copy
    Rate rate;
    WindowKind kind = WindowKind::clock;

    /// The copy, if there is one and its window is open.
    std::optional<WindowRecord> recall(Millis now) const noexcept;

    /// The window as it is known once this answer has come, which is not remembered; null: none has come.
    Window seen(const Window* answer, Millis now) const noexcept;

    /// Remembers an answer, and returns what is used by the copy then; without room by the answer. `here`:
    /// the same window in the region here.
    std::int64_t learn(const Window& answer, const Window& here, Millis now) const noexcept;

private:
    Terms terms_at(const Window& here, Millis now) const noexcept;
};

}  // namespace rate_limit
