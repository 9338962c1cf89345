#include <charconv>
#include <string>

#include "ngx/acts/act_log.h"
#include "ngx/acts/acting.h"
#include "ngx/acts/acts.h"
#include "ngx/acts/key_of_limit.h"
#include "ngx/acts/limits_of_key.h"
#include "ngx/base/zone.h"

namespace rate_limit {

namespace {

constexpr std::int64_t most_given_back = 1'000'000'000;

/// How far it has come; Acting::step.
enum Step : int {
    begun,
    reading,       ///< the primary is asked what there is
    reading_anew,  ///< the window has changed since
    giving,
    giving_anew,
};

bool parse_number(const std::string& text, std::int64_t least, std::int64_t most,
                  std::int64_t& number) noexcept {
    const char* const end = text.data() + text.size();
    const auto parsed = std::from_chars(text.data(), end, number);
    return parsed.ec == std::errc() && parsed.ptr == end && number >= least && number <= most;
}

/// Seconds, or a time as nginx has it; 0: not said. False: it is none.
bool parse_period(const Acting& acting, std::int64_t& period) noexcept {
    period = 0;
    const std::string* text = acting.form().find("period");
    if (text == nullptr) {
        return true;
    }
    ngx_str_t written = str(*text);
    const ngx_int_t seconds = ngx_parse_time(&written, 1);
    period = seconds;
    return seconds > 0;
}

/// The windows that are meant: of one limit in one store, and of one period. False: the act has failed.
bool choose(Acting& acting) {
    std::int64_t period = 0;
    if (!parse_period(acting, period)) {
        acting.fail(ActError::bad_parameter, "The field \"period\" is a time, such as 3600 or 1h.");
        return false;
    }
    std::int64_t found = 0;
    for (const auto& window : acting.limits.front()->windows) {
        window->meant = period == 0 || window->rate.period == period;
        if (window->meant && found != 0 && found != window->rate.period) {
            acting.fail(ActError::ambiguous,
                        "The limit has windows of several periods: name one by \"period\", in seconds.");
            return false;
        }
        found = window->meant ? window->rate.period : found;
    }
    if (found == 0 && period != 0) {
        acting.fail(ActError::bad_parameter, "The limit has no windows of this period.");
        return false;
    }
    return true;
}

void log_window(const Acting& acting, const AskedWindow& window, std::int64_t cost, const Window* after) {
    const KeyOfLimit& limit = *acting.limits.front();
    std::string what = cost == GivingBack::all_of_it ? "reset" : std::to_string(cost) + " given back";
    what +=
        " in " + std::to_string(window.rate.period) + " s: " + std::to_string(window.window.used) + " used, ";
    what += after == nullptr ? "in doubt whether it was done" : "now " + std::to_string(after->used);
    log_act(acting, limit.tally.name, limit.tally.store_name, limit.id, what);
}

/// A window of this machine alone.
void give_back_here(const Acting& acting, AskedWindow& window, std::int64_t cost) {
    Window after;
    acting.main().zone->windows().change(window.place.id, [&](WindowRecord& record) {
        window.window = {record.used, record.reset};
        give_back_local(record, cost);
        after = {record.used, record.reset};
    });
    log_window(acting, window, cost, &after);
    window.window = after;
    window.done = true;
}

/// No window is open: there is nothing to give back. What this machine has of a window of Redis is forgotten.
void give_back_nothing(const Acting& acting, AskedWindow& window, std::int64_t cost) {
    window.window = {};
    const GivingBack what{window.place.id, window.rate, window.kind, cost, 0};
    if (window.place.store != nullptr && what.all()) {
        window.shard().charges().given_back(std::string(window.place.key), what, window.window);
    }
    log_window(acting, window, cost, &window.window);
    window.done = true;
}

void give_back(Acting& acting, AskedWindow& window, std::int64_t cost) {
    if (!is_open(window.window, window.rate.period, now_millis())) {
        give_back_nothing(acting, window, cost);
    } else if (window.place.store == nullptr) {
        give_back_here(acting, window, cost);
    } else {
        const GivingBack what{window.place.id, window.rate, window.kind, cost, window.window.reset};
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

void fail(Acting& acting, const AwaitedRefund& refund) {
    if (refund.in_doubt()) {
        acting.fail(ActError::in_doubt,
                    std::string("The primary was asked, and did not say that it was done: ") +
                        refund.failure() + ". It is not asked again: look the key up.");
    } else {
        acting.fail(ActError::store_unavailable,
                    std::string("The primary was not asked: ") + refund.failure() + ". Nothing was done.");
    }
}

/// Takes in what the primaries have answered. True if a window has changed since it was read.
bool take_refunds(Acting& acting, std::int64_t cost) {
    bool changed = false;
    for_each_left(acting, [&](AskedWindow& window) {
        const AwaitedRefund& refund = window.refund;
        if (refund.failure() == nullptr && refund.window().reset == 0) {
            changed = true;
            return;
        }
        const Window after = refund.window();
        const bool done = refund.failure() == nullptr;
        if (done || refund.in_doubt()) {
            log_window(acting, window, cost, done ? &after : nullptr);
        }
        window.done = done;
        window.window = done ? after : window.window;
        if (!done) {
            fail(acting, refund);
        }
    });
    return changed;
}

/// Reads the windows, gives back, and does both once more where a window has changed meanwhile.
bool give_back(Acting& acting, std::int64_t cost) {
    for (;;) {
        switch (acting.step) {
            case begun:
                if (!find_limits(acting) || !choose(acting)) {
                    return true;
                }
                ask_primaries(acting);
                acting.step = reading;
                break;
            case reading:
            case reading_anew:
                if (!take_answers(acting)) {
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
                    acting.fail(ActError::conflict, "The window has changed twice meanwhile: try again.");
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
    if (!parse_number(*acting.form().find("cost"), 1, most_given_back, cost)) {
        acting.fail(ActError::bad_parameter, "The field \"cost\" is a number from 1 to 1000000000.");
        return true;
    }
    return give_back(acting, cost);
}

}  // namespace rate_limit
