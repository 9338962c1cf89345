#pragma once

#include <cstdint>
#include <limits>
#include <sstream>
#include <string>

#include "core/machine/windows/window_account.h"

namespace rate_limit {

constexpr Millis now = 1'700'000'000'000;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

inline Terms terms(std::int64_t limit, Millis at = now, Truth truth = Truth::redis) {
    return {{limit, 60}, truth, at + 60'000, at};
}

inline WindowRecord with_id() {
    WindowRecord record;
    record.id = {7, 8};
    return record;
}

/// The record of a window whose reset Redis has confirmed.
inline WindowRecord known(std::int64_t used, Millis reset, std::int64_t limit = 10) {
    WindowRecord record = with_id();
    learn(record, terms(limit), {used, reset});
    return record;
}

/// Sends a charge, and returns what the worker remembers for it.
inline Receipt sent(WindowRecord& record, std::int64_t cost, std::int64_t limit = 1000) {
    send(record, terms(limit), cost);
    return {record.ticket, static_cast<std::uint32_t>(record.events)};
}

/// A question that was sent when the record had counted so many events.
inline Question question(std::uint32_t events, std::int64_t waiting = 0) {
    return {events, waiting, 6000};
}

/// The record as text: "4 of 10 until +1000, 2 in flight", with the reset as milliseconds from `now`. What is
/// not there (tokens, requests in flight, unanswered charges) is left out.
inline std::string state_of(const WindowRecord& record) {
    std::ostringstream text;
    if (record.reset == 0) {
        text << "no window";
    } else {
        text << record.used << " of " << record.limit << " until +" << record.reset - now
             << (record.truth == Truth::local ? ", local" : "") << (record.confirmed ? "" : ", proposed");
    }
    const auto add = [&text](std::uint64_t count, const char* what) {
        if (count != 0) {
            text << ", " << count << ' ' << what;
        }
    };
    add(record.leased, "tokens");
    add(record.in_flight, "in flight");
    add(record.unanswered, "unanswered");
    return text.str();
}

}  // namespace rate_limit
