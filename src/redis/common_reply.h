#pragma once

#include <hiredis/read.h>

#include "redis/reply.h"

namespace rate_limit {

/// Reads the next reply from `reader`'s buffer, if it is there completely and looks as nearly every reply to
/// the module does: an integer, or an array of 1 to Reply::max_elements elements, each an integer, a bulk
/// string of 1 to 18 digits, or nil. The result is the same as that of redisReaderGetReply(), in a quarter of
/// the time. False for any other reply, or a part of one, and where the Reply has a tree: nothing has been
/// read then, `reply` means nothing, and the caller has to call redisReaderGetReply(). The caller makes sure
/// that a command waits for the reply, and that no part of an earlier reply is left unread.
bool read_common(redisReader& reader, Reply& reply) noexcept;

}  // namespace rate_limit
