#include "redis/keys/window_key.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

#include "core/limit/rate.h"

namespace rate_limit::window_key_test {
namespace {

std::string key(std::string_view prefix, std::string_view name, std::int64_t period, WindowKind kind,
                std::string_view key, bool digested) {
    // Exactly as much room as the function asks for, so that a sanitizer sees a byte too many.
    std::string out(prefix.size() + name.size() + key.size() + max_window_key_overhead, '?');
    char* end = write_window_head(out.data(), prefix, name, period, kind);
    end = write_window_tail(end, key, digested);
    out.resize(static_cast<std::size_t>(end - out.data()));
    return out;
}

TEST(WindowKey, NamesTheWindow) {
    EXPECT_EQ(key("rl:", "core", 3600, WindowKind::first, "alice", false), "rl:core/3600:alice");
    EXPECT_EQ(key("rl:", "core", 60, WindowKind::clock, "alice", false), "rl:core/60c:alice");
    EXPECT_EQ(key("", "core", 1, WindowKind::first, "ab12", true), "core/1#ab12");
    EXPECT_EQ(key("rl:", "core", 60, WindowKind::clock, "ab12", true), "rl:core/60c#ab12");
}

TEST(WindowKey, IsTakenApart) {
    const auto expect = [](const std::string& whole, std::string_view prefix, std::string_view name,
                           std::string_view of) {
        const WindowKeyParts parts = parts_of_window_key(whole, prefix.size());
        EXPECT_EQ(parts.name, name) << whole;
        EXPECT_EQ(parts.key, of) << whole;
    };
    for (const std::string_view prefix : {"rl:", "", "a/b:#", "::"}) {
        for (const std::string_view of : {"alice", "a/b:c#d/", ":", "/"}) {
            for (const WindowKind kind : {WindowKind::first, WindowKind::clock, WindowKind::month,
                                          WindowKind::bucket, WindowKind::slots}) {
                for (const bool digested : {false, true}) {
                    expect(key(prefix, "c.o-r_e", 3600, kind, of, digested), prefix, "c.o-r_e", of);
                }
            }
        }
    }
    expect("", "rl:", "", "");
    expect("rl", "rl:", "", "");
    expect("rl:core", "rl:", "", "");
    expect("rl:core/60", "rl:", "", "");
}

TEST(WindowKey, NamesThePeriodsOfACalendar) {
    EXPECT_EQ(key("rl:", "core", 1, WindowKind::month, "alice", false), "rl:core/monthc:alice");
    EXPECT_EQ(key("rl:", "core", 2'678'400, WindowKind::clock, "alice", false), "rl:core/2678400c:alice");
    EXPECT_EQ(key("rl:", "core", 1, WindowKind::week, "alice", false), "rl:core/weekc:alice");
    EXPECT_EQ(key("rl:", "core", 1, WindowKind::local_day, "alice", false), "rl:core/dayl:alice");
    EXPECT_EQ(key("rl:", "core", 1, WindowKind::local_week, "alice", false), "rl:core/weekl:alice");
    EXPECT_EQ(key("rl:", "core", 1, WindowKind::local_month, "alice", false), "rl:core/monthl:alice");
}

TEST(WindowKey, KeepsEveryByteOfTheKey) {
    using namespace std::string_literals;
    EXPECT_EQ(key("rl:", "core", 60, WindowKind::first, "\x7f\0\0\x01"s, false), "rl:core/60:\x7f\0\0\x01"s);
    EXPECT_EQ(key("rl:", "core", 60, WindowKind::first, {}, false), "rl:core/60:");
}

TEST(WindowKey, TheLongestPeriodFits) {
    EXPECT_EQ(key("p", "n", std::numeric_limits<std::int64_t>::max(), WindowKind::clock, "k", true),
              "pn/9223372036854775807c#k");
}

}  // namespace
}  // namespace rate_limit::window_key_test
