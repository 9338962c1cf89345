#include "operator/acts/acting.h"
#include "operator/acts/acts.h"
#include "operator/acts/limits_of_key.h"
#include "operator/turn.h"

namespace rate_limit {

namespace {

/// How far it has come; Acting::step.
enum LookUpStep : int { finding, asking, answering, showing };

/// Goes over the limits for a turn. False: more of them are left for the next one.
bool go_over(Acting& acting, bool (*one)(Acting&), const Turn& turn) {
    while (one(acting)) {
        if (turn.spent()) {
            acting.rest();
            return false;
        }
    }
    return true;
}

}  // namespace

bool look_up(Acting& acting) {
    const Turn turn;
    if (acting.step == finding) {
        if (!go_over(acting, find_next_limit, turn)) {
            return false;
        }
        if (!check_found(acting)) {
            return true;
        }
        acting.step = asking;
    }
    if (acting.step == asking) {
        if (!go_over(acting, ask_next_limit, turn)) {
            return false;
        }
        acting.step = answering;
    }
    if (acting.step == answering) {
        if (acting.waiting()) {
            return false;
        }
        if (!take_answers(acting)) {
            return true;
        }
        acting.step = showing;
    }
    return go_over(acting, show_next_limit, turn);
}

}  // namespace rate_limit
