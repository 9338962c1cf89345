#pragma once

#include <string_view>

#include "core/limit/window.h"
#include "core/table/window_id.h"

namespace rate_limit {

class Shard;
class Zone;

/// Sends the primary a word on the penalty of the window, or bucket, that `id` and `key` name: begins one
/// that lasts until then, where none runs; with 0 only asks; or ends it, by ends_penalty. Nobody waits. What
/// the primary says goes into this machine's record; without an answer that says that the primary does not
/// have it, and another order may follow: each can be sent more than once.
void order_penalty(Shard& shard, Zone& zone, std::string_view key, const WindowId& id, WindowKind kind,
                   Millis until) noexcept;

}  // namespace rate_limit
