#include "limiter/request/report.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <string_view>

#include "core/decimal.h"
#include "core/limit/quota.h"
#include "core/text/json_text.h"
#include "limiter/kinds/window.h"
#include "limiter/modes/mode.h"
#include "limiter/request/penalties.h"

namespace rate_limit {

namespace {

/// Takes in the answer. False if there is none, and what this machine knows must not stand for it.
bool take_answer(LimitedRequest& request, AppliedLimit& applied, const Answer& answer, Millis now) noexcept {
    if (answer.failure() == nullptr) {
        if (applied.elsewhere != nullptr) {
            add_elsewhere(*applied.elsewhere, now);
        }
        applied.mode->kind().show_unchanged(applied, &answer.window(), now);
        return true;
    }
    request.on_unchecked(applied, answer.failure());
    if (request.on_error() == OnError::local && open_window(applied, now)) {
        applied.mode->kind().show_unchanged(applied, nullptr, now);
    }
    return applied.verdict.known;
}

void write_limit(JsonText& json, std::string_view name, const Quota& quota) {
    json.name(name).begin_object();
    json.name("limit").number(quota.limit);
    json.name("used").number(quota.used);
    json.name("remaining").number(quota.remaining);
    json.name("reset").number(quota.reset);
    json.end_object();
}

template <std::size_t size, typename... Arguments>
void print(std::array<char, size>& text, const char* format, Arguments... arguments) noexcept {
    (void)std::snprintf(text.data(), size, format, arguments...);
}

}  // namespace

void ask_for_report(LimitedRequest& request) noexcept {
    const Millis now = now_millis();
    request.begin_asking();
    for (std::size_t i = 0; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        if (applied.zone == nullptr) {
            continue;  // a limit of 0, or one that cannot be read
        }
        if (applied.penalty != nullptr && recall_penalty(applied, now)) {
            applied.verdict.window.used = std::max(applied.verdict.window.used, applied.verdict.rate.limit);
        } else if (applied.mode->kind().is_known(applied, now)) {
            applied.mode->kind().show_unchanged(applied, nullptr, now);
        } else {
            request.ask_for_report(applied);
        }
    }
    request.end_asking();
}

bool take_reported(LimitedRequest& request) noexcept {
    request.end_wait();
    const Millis now = now_millis();
    bool known = request.count() != 0;
    for (std::size_t i = 0; i < request.count(); ++i) {
        AppliedLimit& applied = request.applied(i);
        const Answer* answer = applied.answer();
        known = (answer != nullptr ? take_answer(request, applied, *answer, now) : applied.verdict.known) &&
                known;
    }
    return known;
}

std::string write_report(const LimitedRequest& request) {
    const Millis now = now_millis();
    JsonText json;
    json.begin_object().name("resources").begin_object();
    for (std::size_t i = 0; i < request.count(); ++i) {
        const Quota quota = quota_of(request.applied(i).verdict, now);
        write_limit(json, quota.name, quota);
    }
    json.end_object();
    write_limit(json, "rate", quota_of(request.applied(0).verdict, now));
    json.end_object();
    return json.take();
}

Rejection::Rejection(const LimitedRequest& request, const AppliedLimit& applied) noexcept {
    const Verdict& verdict = applied.verdict;
    const std::int64_t used = verdict.window.used;
    const std::int64_t limit = verdict.rate.limit;
    const char* const dry_run = verdict.outcome == Outcome::rejected ? "" : ", dry run";
    std::array<char, max_number + 12> running{};
    if (verdict.in_flight != 0) {
        print(running, ", %" PRId64 " running", verdict.in_flight);
    }
    std::array<char, max_number + 4> period;
    if (verdict.rate.calendar == Calendar::none) {
        print(period, "%" PRId64 " s", verdict.rate.period);
    } else {
        print(period, "a %s", to_string(verdict.rate.calendar).data());
    }
    std::array<char, 200> what;
    if (applied.override_kind == OverrideKind::ban) {
        print(what, "rejects, by a ban for %" PRId64 " s more",
              seconds_until(verdict.window.reset, now_millis()));
    } else if (applied.penalty != nullptr && applied.penalty->until != 0 && !applied.penalty->begun) {
        print(what, "rejects%s, by a penalty for %" PRId64 " s more", dry_run,
              seconds_until(applied.penalty->until, now_millis()));
    } else if (verdict.slots) {
        print(what, "exceeded%s: %" PRId64 " running of %" PRId64 " at a time", dry_run, used, limit);
    } else if (verdict.never_fits) {
        print(what,
              "exceeded%s: a cost of %" PRId64 " is above the whole limit, %" PRId64 " used of %" PRId64
              " in %s",
              dry_run, applied.cost, used, limit, period.data());
    } else {
        print(what, "exceeded%s: %" PRId64 " used of %" PRId64 " in %s%s", dry_run, used, limit,
              period.data(), running.data());
    }
    print(text_, "rate limit \"%.*s\" %s, id %016" PRIx64, static_cast<int>(applied.limit.name.size()),
          applied.limit.name.data(), what.data(), request.id_of(applied));
}

PenaltyBegin::PenaltyBegin(const LimitedRequest& request, const AppliedLimit& applied) noexcept {
    print(text_, "rate limit \"%.*s\" begins a penalty of %" PRId64 " s, until %" PRId64 ", id %016" PRIx64,
          static_cast<int>(applied.limit.name.size()), applied.limit.name.data(),
          applied.limit.penalty / 1000, reset_seconds(applied.penalty->until), request.id_of(applied));
}

}  // namespace rate_limit
