#include <algorithm>
#include <string>

#include "core/decimal.h"
#include "core/text/figure_text.h"
#include "limiter/request/penalties.h"
#include "limiter/zone.h"
#include "operator/acts/acting.h"
#include "operator/acts/limits_of_key.h"
#include "operator/figures/words.h"

namespace rate_limit {

namespace {

constexpr std::int64_t most_given_back = 1'000'000'000;

/// How far it has come; Acting::step.
enum GivingStep : int {
    begun,
    reading,       ///< the primary is asked what there is
    reading_anew,  ///< the window has changed since
    giving,
    giving_anew,
};

/// The word of a calendar's period, seconds, or a time as nginx has it; of no period, if the act says none.
/// False: it is none.
bool parse_period(const Acting& acting, Rate& of) noexcept {
    const std::string* text = acting.form().find("period");
    if (text == nullptr) {
        return true;
    }
    for (const Calendar unit : {Calendar::day, Calendar::week, Calendar::month}) {
        if (*text == to_string(unit)) {
            of = {0, longest(unit), unit};
            return true;
        }
    }
    of.period = parse_seconds(*text).value_or(0);
    return of.period > 0;
}

/// Chooses among the windows of the period that the act names. False: there is none, and the act has failed.
bool choose_period(Acting& acting, const Rate& of) {
    bool found = false;
    for (const auto& window : acting.limits.front()->windows) {
        window->meant = same_period(window->rate, of);
        found = found || window->meant;
    }
    if (!found) {
        acting.fail(ActError::bad_parameter, "The limit has no window or bucket of this period.");
    }
    return found;
}

/// The act names no period: it means the windows that are there, which are of one period. Where none is, it
/// means all. False: they are of several, and the act has failed.
bool choose_there(Acting& acting) {
    const Rate* there = nullptr;
    for (const auto& window : acting.limits.front()->windows) {
        window->meant = is_there(acting, *window);
        if (window->meant && there != nullptr && !same_period(*there, window->rate)) {
            acting.fail(
                ActError::ambiguous,
                "The key has windows or buckets of several periods: name one by \"period\", in seconds.");
            return false;
        }
        there = window->meant ? &window->rate : there;
    }
    for (const auto& window : acting.limits.front()->windows) {
        window->meant = window->meant || there == nullptr;
    }
    return true;
}

/// Chooses the windows that the act means, once it is known what is there. False: the act has failed.
bool choose(Acting& acting) {
    Rate of;
    (void)parse_period(acting, of);
    return of.period != 0 ? choose_period(acting, of) : choose_there(acting);
}

/// Finds the limit. False: the act has failed.
bool begin(Acting& acting) {
    Rate of;
    if (!find_limits(acting)) {
        return false;
    }
    if (const char* const why = acting.limits.front()->tally.limit->kind->why_not_given_back) {
        acting.fail(ActError::bad_parameter, why);
        return false;
    }
    if (!parse_period(acting, of)) {
        acting.fail(ActError::bad_parameter,
                    "The field \"period\" is a time, such as 3600 or 1h, or day, week or month.");
        return false;
    }
    return of.period == 0 || choose_period(acting, of);
}

void log_window(const Acting& acting, const AskedWindow& window, std::int64_t cost, const Window* after) {
    std::string what = cost == GivingBack::all_of_it ? "reset" : std::to_string(cost) + " given back";
    what += " in " + period_and_unit(window.rate) + ": ";
    what += std::to_string(window.window.used) + " used, ";
    what += after == nullptr ? "in doubt whether it was done" : "now " + std::to_string(after->used);
    if (window.elsewhere != nullptr) {
        what += ", of region \"" + window.place.store->conf().region + "\" alone";
    }
    log_act(acting, *acting.limits.front(), what);
}

/// A window of this machine alone.
void give_back_here(const Acting& acting, AskedWindow& window, std::int64_t cost) {
    Window after;
    window.named->records.give_back(window, acting.main().zone->windows(), cost, window.window, after);
    log_window(acting, window, cost, &after);
    window.window = after;
    window.done = window.changed = true;
}

/// No window is open: there is nothing to give back. What this machine has of a window of Redis is forgotten.
void give_back_nothing(const Acting& acting, AskedWindow& window, std::int64_t cost) {
    window.changed = is_there(acting, window);
    window.window = {};
    const GivingBack what = window.giving_back(cost, 0);
    if (window.place.store != nullptr && what.all()) {
        window.shard().charges().given_back(std::string(window.place.key), what, window.window);
    }
    log_window(acting, window, cost, &window.window);
    window.done = true;
}

/// A reset ends the penalty of a limit that has them, also where no window is open.
void end_penalties(const Acting& acting, const AskedWindow& window, std::int64_t cost) {
    const Configuration& main = acting.main();
    const Tally& tally = acting.limits.front()->tally;
    const bool has_penalties = std::any_of(main.limits.begin(), main.limits.end(), [&](const Limit* limit) {
        return limit->penalty != 0 && tally.is_of(*limit);
    });
    if (cost == GivingBack::all_of_it && has_penalties) {
        end_penalty(window, *main.zone);
    }
}

void give_back(Acting& acting, AskedWindow& window, std::int64_t cost) {
    end_penalties(acting, window, cost);
    if (!window.is_open(window.window, now_millis())) {
        give_back_nothing(acting, window, cost);
    } else if (window.place.store == nullptr) {
        give_back_here(acting, window, cost);
    } else {
        const GivingBack what = window.giving_back(cost, window.window.reset);
        window.refund.start(window.shard(), window.place.key, what, acting.expect_answer());
    }
}

/// Calls fn(AskedWindow&) for each window to which the act is still to be done.
template <typename Fn>
void for_each_left(const Acting& acting, Fn&& fn) {
    for (const auto& window : acting.limits.front()->windows) {
        if (window->meant && !window->done) {
            fn(*window);
        }
    }
}

/// Takes in what the primaries have answered: the act has failed where one has not done it. True if a window
/// has changed since it was read.
bool take_refunds(Acting& acting, std::int64_t cost) {
    bool changed = false;
    const char* failure = nullptr;
    const char* doubt = nullptr;
    for_each_left(acting, [&](AskedWindow& window) {
        const AwaitedRefund& refund = window.refund;
        const Window after = refund.window();
        const Window shown = window.named->records.shown(window, after, now_millis());
        if (refund.failure() != nullptr) {
            (refund.in_doubt() ? doubt : failure) = refund.failure();
            window.changed = refund.in_doubt();
        } else if (after.reset == 0) {
            changed = true;
            return;
        } else {
            window.done = window.changed = true;
        }
        if (window.changed) {
            log_window(acting, window, cost, window.done ? &shown : nullptr);
        }
        window.window = window.done ? shown : window.window;
    });
    if (doubt != nullptr) {
        acting.fail(ActError::in_doubt,
                    std::string("The primary was asked, and did not say that it was done: ") + doubt +
                        ". It is not asked again: look the key up.");
    } else if (failure != nullptr) {
        fail_undone(acting, ActError::store_unavailable,
                    std::string("The primary was not asked, or refused: ") + failure + ".");
    }
    return changed;
}

/// Reads the windows, gives back, and does both once more where a window has changed meanwhile.
bool give_back(Acting& acting, std::int64_t cost) {
    for (;;) {
        switch (acting.step) {
            case begun:
                if (!begin(acting)) {
                    return true;
                }
                ask_primaries(acting);
                acting.step = reading;
                break;
            case reading:
            case reading_anew:
                if (!take_answers(acting) || (acting.step == reading && !choose(acting))) {
                    return true;
                }
                for_each_left(acting, [&](AskedWindow& window) { give_back(acting, window, cost); });
                acting.step = acting.step == reading ? giving : giving_anew;
                break;
            default:
                const bool changed = take_refunds(acting, cost);
                if (acting.result.error != ActError::none) {
                    return true;
                }
                if (!changed) {
                    show_limits(acting);
                    return true;
                }
                if (acting.step == giving_anew) {
                    fail_undone(acting, ActError::conflict,
                                "The window has changed twice meanwhile: try again.");
                    return true;
                }
                ask_primaries(acting);
                acting.step = reading_anew;
        }
        if (acting.waiting()) {
            return false;
        }
    }
}

}  // namespace

bool reset_window(Acting& acting) {
    return give_back(acting, GivingBack::all_of_it);
}

bool give_back_part(Acting& acting) {
    std::int64_t cost = 0;
    if (!parse_digits(acting.form().value("cost"), cost) || cost < 1 || cost > most_given_back) {
        acting.fail(ActError::bad_parameter, "The field \"cost\" is a number from 1 to 1000000000.");
        return true;
    }
    return give_back(acting, cost);
}

}  // namespace rate_limit
