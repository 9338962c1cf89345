#include "core/limit/local_time.h"

#include <cstdlib>
#include <ctime>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit {
namespace {

constexpr Millis hour = 3'600'000;

/// The zone that the process runs in while this lives. Rules are written out, so that no data of zones are
/// needed.
class Zone {
public:
    explicit Zone(const char* rules) {
        setenv("TZ", rules, 1);
        tzset();
    }
    ~Zone() {
        unsetenv("TZ");
        tzset();
    }
    Zone(const Zone&) = delete;
    Zone& operator=(const Zone&) = delete;
};

Millis local(int year, int month, int day, int hours = 0, int minutes = 0) {
    std::tm date{};
    date.tm_year = year - 1900;
    date.tm_mon = month - 1;
    date.tm_mday = day;
    date.tm_hour = hours;
    date.tm_min = minutes;
    date.tm_isdst = -1;
    return Millis{mktime(&date)} * 1000;
}

std::string date_at(Millis at) {
    const std::time_t time = at / 1000;
    std::tm parts{};
    localtime_r(&time, &parts);
    std::string text(16, '\0');
    text.resize(std::strftime(text.data(), text.size(), "%F", &parts));
    return text;
}

constexpr const char* berlin = "CET-1CEST,M3.5.0,M10.5.0/3";

TEST(LocalTime, ADayMayHave23Or25Hours) {
    const Zone zone(berlin);
    LocalTime time;
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 3, 28, 12)), local(2027, 3, 29));
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 3, 28)) - local(2027, 3, 28), 23 * hour);
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 10, 31)) - local(2027, 10, 31), 25 * hour);
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 10, 30)) - local(2027, 10, 30), 24 * hour);
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 12, 31, 23, 59)), local(2028, 1, 1));
}

TEST(LocalTime, WeeksBeginOnMondaysAndMonthsOnTheFirst) {
    const Zone zone(berlin);
    LocalTime time;
    EXPECT_EQ(time.end_of(Calendar::week, local(2027, 3, 22)), local(2027, 3, 29)) << "a Monday";
    EXPECT_EQ(time.end_of(Calendar::week, local(2027, 3, 28, 23, 59)), local(2027, 3, 29)) << "a Sunday";
    EXPECT_EQ(time.end_of(Calendar::week, local(2027, 12, 31)), local(2028, 1, 3));
    EXPECT_EQ(time.end_of(Calendar::month, local(2027, 10, 1)), local(2027, 11, 1));
    EXPECT_EQ(time.end_of(Calendar::month, local(2028, 2, 29, 23)), local(2028, 3, 1));
    EXPECT_EQ(time.end_of(Calendar::month, local(2027, 12, 15)), local(2028, 1, 1));
}

/// Summer time at midnight, of half an hour, of two hours; a minute of a Sunday before an hour of Saturday.
TEST(LocalTime, EndsWhereTheNextDateBeginsInAnyZone) {
    for (const char* rules :
         {"UTC0", berlin, "EET-2EEST,M3.5.0/0,M10.5.0/0", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0",
          "<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", "NST3:30NDT,M3.2.0/0:01,M11.1.0/0:01",
          "<-03>3<-02>,M10.3.0/0,M2.3.0/0", "<+14>-14", "<-12>12"}) {
        const Zone zone(rules);
        for (const Calendar unit : {Calendar::day, Calendar::week, Calendar::month}) {
            LocalTime kept;
            std::set<Millis> ends;
            for (Millis at = 1'800'000'000'000; at < 1'835'000'000'000; at += 1'799'999) {
                LocalTime time;
                const Millis end = time.end_of(unit, at);
                ASSERT_GT(end, at) << rules;
                ASSERT_LE(end - at, longest(unit) * 1000) << rules;
                ASSERT_GT(date_at(end), date_at(end - 1)) << rules << ", " << date_at(at);
                ASSERT_GT(date_at(end), date_at(at)) << rules;
                ASSERT_EQ(kept.end_of(unit, at), end) << rules << ": what it keeps is what it finds";
                ends.insert(end);
            }
            const std::size_t most = unit == Calendar::day ? 408 : unit == Calendar::week ? 60 : 15;
            EXPECT_LE(ends.size(), most) << rules;
        }
    }
}

TEST(LocalTime, AClockThatIsSetBackIsBelieved) {
    const Zone zone(berlin);
    LocalTime time;
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 6, 2, 12)), local(2027, 6, 3));
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 6, 1, 12)), local(2027, 6, 2));
    EXPECT_EQ(time.end_of(Calendar::day, local(2027, 6, 2, 1)), local(2027, 6, 3));
}

}  // namespace
}  // namespace rate_limit
