#pragma once

namespace rate_limit {

class Acting;

/// Finds the limits that the act names, or all, and the windows that its key may have; without a key none.
/// False: the act has failed.
bool find_limits(Acting& acting);

/// Asks the primary of each window; what is `local` is known at once. The act waits for the answers.
void ask_primaries(Acting& acting);

/// All answers are there. False: one is not, and the act has failed.
bool take_answers(Acting& acting);

/// What is known of all of them becomes the result.
void show_limits(Acting& acting);

}  // namespace rate_limit
