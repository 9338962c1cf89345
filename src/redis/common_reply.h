#pragma once

#include <hiredis/read.h>

#include "redis/reply.h"

namespace rate_limit {

/// Reads the reply that lies next in `reader`'s buffer, if it lies there whole and is of the kind that nearly
/// every answer to a check or charge has: a number from 0 to 10^18 - 1, or an array of two that are such
/// numbers or nil. The result is the same as redisReaderGetReply() would give, for a quarter of its time.
/// False: another reply, or a part of one; nothing has been read, and redisReaderGetReply() has to see to it.
/// A command waits for the reply; of an earlier one nothing is left unread.
bool read_common(redisReader& reader, Reply& reply) noexcept;

}  // namespace rate_limit
