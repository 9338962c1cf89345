#pragma once

#include <hiredis/read.h>

namespace rate_limit {

/// Bounds what waits in `reader`'s buffer: a server must not fill the memory of a worker, nor have it search
/// megabytes for the end of a line at each read. The caller has read all whole replies. The reader has a
/// Reply as its privdata.
///
/// At most 64 KB of a line may wait, and 1 MB of a text, or 16 MB where the Reply has a tree. A longer text
/// within an array is passed over, if Redis can have stored it (512 MB): another program may have put it into
/// one client's key, and nobody else is to feel that. The element is no number then, and the tree is
/// malformed. All else that is longer is a reason to end the connection.
///
/// Null, or that reason: static text.
const char* bound_unread(redisReader& reader) noexcept;

}  // namespace rate_limit
