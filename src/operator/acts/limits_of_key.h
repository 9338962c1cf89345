#pragma once

#include <string>

#include "operator/acts/act_result.h"
#include "operator/figures/document.h"

namespace rate_limit {

class Acting;
struct AskedWindow;

// There may be thousands of limits, and each costs some microseconds. So these go one step along
// Acting::walk, which begins at the first limit again once they are at its end: then they are false.

/// Finds the next limit that the act means, and the windows that its key may have; without a key none.
bool find_next_limit(Acting& acting);

/// Asks the primary of each window of the next limit that was found; what is `local` is known at once. The
/// act waits for the answers.
bool ask_next_limit(Acting& acting);

/// Adds what is known of the next limit to the result.
bool show_next_limit(Acting& acting);

/// Goes so over the limits for a turn. False: more of them are left for the next one.
bool go_over(Acting& acting, bool (*one)(Acting&), const Turn& turn);

/// Whether the act's limits are such as it named. False: it has failed.
bool check_found(Acting& acting);

/// Finds all at once: of an act that names its limit. False: the act has failed.
bool find_limits(Acting& acting);
void ask_primaries(Acting& acting);

/// All answers are there. False: one is not, and the act has failed.
bool take_answers(Acting& acting);

/// The answers that come are there: of a limit with one that has not come nothing is known.
void take_what_is_answered(Acting& acting);

/// Ends the act with this error and says that nothing was done; InDoubt where some window was changed, or may
/// have been. `why` is a sentence.
void fail_undone(Acting& acting, ActError error, const std::string& why);

/// Whether the window is open, or this machine has something of it. The answers are there.
bool is_there(const Acting& acting, const AskedWindow& window);

/// Makes what is known of all of them the result.
void show_limits(Acting& acting);

}  // namespace rate_limit
