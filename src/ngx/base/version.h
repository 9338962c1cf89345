#pragma once

namespace rate_limit {

/// In one piece, so that it is found in the module's file.
extern const char name_and_version[];

}  // namespace rate_limit
