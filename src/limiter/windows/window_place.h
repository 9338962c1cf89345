#pragma once

#include <cstdint>
#include <string_view>

#include "core/limit/window.h"
#include "core/table/window_id.h"
#include "limiter/loop.h"
#include "limiter/store_conf.h"
#include "redis/keys/routes.h"

namespace rate_limit {

class Store;
class Zone;

/// The identity of a window among all others of its store.
struct WindowIdentity {
    std::string_view limit;  ///< its name
    std::int64_t period = 0;
    WindowKind kind = WindowKind::first;
    std::string_view key;   ///< evaluated by the limit
    std::string_view head;  ///< start of the text that identifies it: Limit::head; empty: not known
};

/// The place of a window. Empty until it has been located.
struct WindowPlace {
    Store* store = nullptr;       ///< null: in the memory of this machine
    Route route = 0;              ///< its place in the store
    std::string_view key;         ///< its identity: in Redis, or here
    std::string_view stored_key;  ///< its end: the limit's key as it reaches Redis
    WindowId id;
};

/// Finds the window in the store; null: `local`. What identifies it is written into the request's memory.
/// Null, or static text for a log line: why there is none.
const char* locate(RequestMemory& memory, const Zone& zone, StoreConf* store, const WindowIdentity& window,
                   WindowPlace& place) noexcept;

}  // namespace rate_limit
