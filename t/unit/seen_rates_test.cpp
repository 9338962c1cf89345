#include "core/counts/seen_rates.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::seen_rates_test {
namespace {

constexpr std::size_t size = SeenRates::bytes_for(3);

struct Seen {
    Seen() { EXPECT_TRUE(rates.use(memory.at(), size)); }

    TableMemory memory{size};
    SeenRates rates;
};

std::set<std::string> read(const SeenRates& rates, std::uint64_t name) {
    std::set<std::string> texts;
    for (const Rate& rate : rates.read(name)) {
        if (rate.limit != 0) {
            texts.insert(std::to_string(rate.limit) + "/" + std::to_string(rate.period));
        }
    }
    return texts;
}

TEST(SeenRates, KeepsEachRateOnce) {
    Seen seen;
    EXPECT_TRUE(read(seen.rates, 7).empty());
    for (int round = 0; round < 2; ++round) {
        seen.rates.note(7, {5, 60});
        seen.rates.note(7, {5, 3600});
        seen.rates.note(7, {max_limit, max_period});
        seen.rates.note(7, {0, 1});
    }
    EXPECT_EQ(read(seen.rates, 7), (std::set<std::string>{"5/60", "5/3600", "1/1",
                                                          std::to_string(SeenRates::most_limit) + "/" +
                                                              std::to_string(max_period)}));
    EXPECT_TRUE(read(seen.rates, 8).empty());
}

TEST(SeenRates, KeepsThePeriodsOfACalendarApart) {
    Seen seen;
    std::vector<Calendar> calendars;
    for (const Calendar unit : {Calendar::day, Calendar::week, Calendar::month}) {
        seen.rates.note(7, {5, longest(unit), unit});
        seen.rates.note(7, {5, longest(unit)});
    }
    for (const Rate& rate : seen.rates.read(7)) {
        EXPECT_TRUE(rate.calendar == Calendar::none || rate.period == longest(rate.calendar));
        if (rate.limit != 0) {
            calendars.push_back(rate.calendar);
        }
    }
    using C = Calendar;
    EXPECT_EQ(calendars, (std::vector<C>{C::day, C::none, C::week, C::none, C::month, C::none}));
}

TEST(SeenRates, FindsEightPeriodsAmongManyRates) {
    Seen seen;
    for (std::int64_t limit = 1; limit < 100; ++limit) {
        for (std::int64_t period = 1; period <= 8; ++period) {
            seen.rates.note(7, {limit, period});
        }
    }
    std::set<std::int64_t> periods;
    for (const Rate& rate : seen.rates.read(7)) {
        periods.insert(rate.period);
    }
    EXPECT_EQ(periods, (std::set<std::int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
    seen.rates.note(7, {1, 9});
    EXPECT_EQ(read(seen.rates, 7).count("1/9"), 1U) << "a ninth takes the place of another";
    EXPECT_EQ(read(seen.rates, 7).size(), 8U);
}

TEST(SeenRates, LosesNoPeriodToAnother) {
    Seen seen;
    std::set<std::int64_t> periods;
    for (std::int64_t period = 1; period <= 8; ++period) {
        for (std::int64_t limit = 1; limit <= 3; ++limit) {
            seen.rates.note(7, {limit, period});
        }
    }
    for (const Rate& rate : seen.rates.read(7)) {
        periods.insert(rate.period);
    }
    EXPECT_EQ(periods.size(), 8U);
}

TEST(SeenRates, HasRoomForSoManyLimits) {
    Seen seen;
    for (std::uint64_t name = 2; name <= 5; ++name) {
        seen.rates.note(name, {static_cast<std::int64_t>(name), 60});
    }
    EXPECT_EQ(read(seen.rates, 4), (std::set<std::string>{"4/60"}));
    EXPECT_TRUE(read(seen.rates, 5).empty()) << "without room nothing is noted";
}

TEST(SeenRates, TakesThePlacesOfLimitsThatAreGone) {
    Seen seen;
    for (std::uint64_t name = 2; name <= 4; ++name) {
        seen.rates.note(name, {static_cast<std::int64_t>(name), 60});
    }
    seen.rates.make_room({4, 2});
    EXPECT_EQ(read(seen.rates, 3).size(), 1U) << "nobody needs its place";
    seen.rates.make_room({5, 4, 2});
    EXPECT_TRUE(read(seen.rates, 3).empty());
    seen.rates.note(5, {5, 60});
    EXPECT_EQ(read(seen.rates, 5), (std::set<std::string>{"5/60"})) << "and no rate of the one before";
    EXPECT_EQ(read(seen.rates, 2), (std::set<std::string>{"2/60"}));
    EXPECT_EQ(read(seen.rates, 4), (std::set<std::string>{"4/60"})) << "found behind a place that was left";
    for (std::uint64_t name = 100; name < 1000; name += 3) {
        seen.rates.make_room({name, name + 1, name + 2});
        for (std::uint64_t one = name; one < name + 3; ++one) {
            seen.rates.note(one, {1, static_cast<std::int64_t>(one)});
            ASSERT_EQ(read(seen.rates, one).size(), 1U) << one;
        }
    }
}

TEST(SeenRates, OutlivesWhoNotedThem) {
    Seen seen;
    seen.rates.note(7, {5, 60});
    SeenRates other;
    ASSERT_TRUE(other.use(seen.memory.at(), size));
    EXPECT_EQ(read(other, 7), (std::set<std::string>{"5/60"}));
    EXPECT_FALSE(other.use(seen.memory.at(), SeenRates::bytes_for(1) - 1)) << "no room";
}

}  // namespace
}  // namespace rate_limit::seen_rates_test
