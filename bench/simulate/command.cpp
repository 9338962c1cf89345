#include "bench/simulate/command.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <stdexcept>

namespace rate_limit::simulated {

namespace {

constexpr std::string_view digits = "0123456789";
constexpr std::int64_t hour = 3'600'000'000;
constexpr std::int64_t day = 24 * hour;

/// The word has at most 18 digits.
std::optional<std::int64_t> whole(const std::string& word) {
    if (word.empty() || word.size() > 18 || word.find_first_not_of(digits) != std::string::npos) {
        return {};
    }
    return std::stoll(word);
}

/// A number begins with a digit, and may have a fraction and an exponent.
std::optional<double> number(const std::string& word) {
    if (word.find_first_not_of("0123456789.e+-") != std::string::npos || word.find_first_of(digits) != 0) {
        return {};
    }
    char* end = nullptr;
    const double value = std::strtod(word.c_str(), &end);
    return *end == '\0' ? std::optional(value) : std::nullopt;
}

[[noreturn]] void refuse(const std::string& text) {
    throw std::invalid_argument(text);
}

std::string range(std::int64_t least, std::int64_t most) {
    return " from " + std::to_string(least) + " to " + std::to_string(most);
}

/// A setting that a word NAME=VALUE may change: a whole number, or microseconds.
struct Setting {
    const char* name;
    std::int64_t least;
    std::int64_t most;
    void (*set_whole)(Setup&, std::int64_t);  // null: it takes fractions
    void (*set)(Setup&, double);
};

constexpr Setting settings[] = {
    {"machines", 1, 10'000, [](Setup& setup, std::int64_t value) { setup.machines = std::size_t(value); },
     nullptr},
    {"workers", 1, 1'000, [](Setup& setup, std::int64_t value) { setup.workers = std::size_t(value); },
     nullptr},
    {"limit", 1, max_limit, [](Setup& setup, std::int64_t value) { setup.rate.limit = value; }, nullptr},
    {"period", 1, max_period, [](Setup& setup, std::int64_t value) { setup.rate.period = value; }, nullptr},
    {"keys", 1, 10'000'000, [](Setup& setup, std::int64_t value) { setup.keys = std::size_t(value); },
     nullptr},
    {"response_us", 0, hour, nullptr, [](Setup& setup, double value) { setup.response.fixed = value; }},
    {"response_rest_us", 0, hour, nullptr,
     [](Setup& setup, double value) { setup.response.mean_of_rest = value; }},
    {"latency_us", 0, hour, nullptr, [](Setup& setup, double value) { setup.latency.fixed = value; }},
    {"latency_rest_us", 0, hour, nullptr,
     [](Setup& setup, double value) { setup.latency.mean_of_rest = value; }},
    {"lag_us", 0, hour, nullptr, [](Setup& setup, double value) { setup.lag.fixed = value; }},
};

const Setting& setting_of(const std::string& word) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    std::string names;
    for (const Setting& setting : settings) {
        if (name == setting.name) {
            return setting;
        }
        names += (names.empty() ? "" : ", ") + std::string(setting.name);
    }
    refuse("\"" + word + "\" sets nothing: NAME=VALUE is wanted, and a name is one of " + names);
}

void set(const Setting& setting, const std::string& word, Setup& setup) {
    const std::size_t equals = word.find('=');
    const std::string value = equals != std::string::npos ? word.substr(equals + 1) : "";
    const auto fits = [&](auto read) { return read && *read >= setting.least && *read <= setting.most; };
    if (setting.set_whole != nullptr && fits(whole(value))) {
        setting.set_whole(setup, *whole(value));
    } else if (setting.set != nullptr && fits(number(value))) {
        setting.set(setup, *number(value));
    } else {
        refuse("\"" + word + "\": " + setting.name + " is a " +
               (setting.set_whole != nullptr ? "whole number" : "number") +
               range(setting.least, setting.most));
    }
}

/// The words between blanks and tabs.
Words split(const std::string& line) {
    Words words;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t", at)) != std::string::npos;) {
        const std::size_t end = std::min(line.find_first_of(" \t", at), line.size());
        words.push_back(line.substr(at, end - at));
        at = end;
    }
    return words;
}

/// `since`: when the request before it came.
Arrival read_arrival(const std::string& line, const Setup& setup, Micros since) {
    const Words words = split(line);
    if (words.size() != 4) {
        refuse(std::to_string(words.size()) +
               " words, where four are wanted: microseconds since the start, "
               "machine, key, microseconds of the response");
    }
    Arrival arrival;
    arrival.at = read_whole(words[0], "microseconds since the start, which never decrease", since, day);
    arrival.machine = static_cast<std::size_t>(
        read_whole(words[1], "number of a machine", 0, static_cast<std::int64_t>(setup.machines) - 1));
    arrival.key = static_cast<std::uint32_t>(
        read_whole(words[2], "number of a key", 0, static_cast<std::int64_t>(setup.keys) - 1));
    arrival.response = read_whole(words[3], "microseconds of the response", 0, hour);
    return arrival;
}

}  // namespace

std::int64_t read_whole(const std::string& word, const char* what, std::int64_t least, std::int64_t most) {
    const auto value = whole(word);
    if (!value || *value < least || *value > most) {
        refuse("\"" + word + "\" is not the " + what + ": a whole number" + range(least, most) +
               " is wanted");
    }
    return *value;
}

Way way_of(std::string_view name) {
    std::string names;
    for (const Way way : all_ways) {
        if (name == name_of(way)) {
            return way;
        }
        names += (names.empty() ? "" : ", ") + std::string(name_of(way));
    }
    refuse("\"" + std::string(name) + "\" is no way: one of " + names + " is wanted");
}

Setup read_setup(const Words& words) {
    Setup setup;
    setup.response_spread = 0;
    std::vector<const Setting*> seen;
    for (const std::string& word : words) {
        const Setting& setting = setting_of(word);
        if (std::find(seen.begin(), seen.end(), &setting) != seen.end()) {
            refuse("\"" + word + "\": " + setting.name + " is set twice");
        }
        seen.push_back(&setting);
        set(setting, word, setup);
    }
    if (setup.rate.limit == 0 || setup.rate.period == 0) {
        refuse(std::string(setup.rate.limit == 0 ? "limit" : "period") + "=NUMBER is missing");
    }
    return setup;
}

std::vector<Arrival> read_schedule(std::istream& lines, const std::string& path, const Setup& setup) {
    std::vector<Arrival> arrivals;
    for (std::string line; std::getline(lines, line);) {
        const std::string here = path + " line " + std::to_string(arrivals.size() + 1) + ": ";
        if (lines.eof()) {
            refuse(here + "the file ends within it: a newline is wanted");
        }
        try {
            arrivals.push_back(read_arrival(line, setup, arrivals.empty() ? 0 : arrivals.back().at));
        } catch (const std::invalid_argument& wrong) {
            refuse(here + wrong.what());
        }
    }
    if (arrivals.empty()) {
        refuse(path + " has no schedule: a line for each request is wanted");
    }
    return arrivals;
}

}  // namespace rate_limit::simulated
