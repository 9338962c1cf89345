#pragma once

#include <string>

#include "ngx/acts/act_result.h"

namespace rate_limit {

class Acting;
struct AskedWindow;

/// Finds the limits that the act names, or all, and the windows that its key may have; without a key none.
/// False: the act has failed.
bool find_limits(Acting& acting);

/// Asks the primary of each window; what is `local` is known at once. The act waits for the answers.
void ask_primaries(Acting& acting);

/// All answers are there. False: one is not, and the act has failed.
bool take_answers(Acting& acting);

/// Ends the act with this error and says that nothing was done; InDoubt where some window was changed, or may
/// have been. `why` is a sentence.
void fail_undone(Acting& acting, ActError error, const std::string& why);

/// Whether the window is open, or this machine has something of it. The answers are there.
bool is_there(const Acting& acting, const AskedWindow& window);

/// What is known of all of them becomes the result.
void show_limits(Acting& acting);

}  // namespace rate_limit
