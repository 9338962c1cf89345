#pragma once

#include "ngx/request/context.h"

namespace rate_limit {

// The end of a response: slots of running requests are free again when it has been sent, though the request
// may go on, for a mirror, a background update, or post_action.

/// Lets responses pass through here, if a configuration has limits of running requests.
void add_end_filter(const MainConf& main) noexcept;

/// The header has passed the filters. Frees the slots where the response is no more than that and has been
/// sent.
void note_header_sent(RequestContext& context) noexcept;

}  // namespace rate_limit
