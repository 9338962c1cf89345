// Runs the limiter in random worlds:
//   world SEEDS [FIRST]: so many, from a seed on.
//   world seconds SECONDS FIRST: as many as begin in that time.
//   world failed FILE: those of a list of seeds that have failed.
//   world first SEEDS: the first that fails: its seed, the events until then, and why, as a table has it.
//   world seed SEED [FAULTS]: one, and tells what happens in it; with FAULTS alone, as 0,3 or none.
// What does not hold ends the program with status 1, and what to type to see it again.

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "t/worlds/violation.h"

namespace {

using rate_limit::world::Outcomes;
using rate_limit::world::Plan;
using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

/// The command makes no sense.
class Usage : public std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// Status 1: one fails.
int find_first(std::uint64_t seeds) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Outcomes seen = run_world(Plan(seed), nullptr);
        if (!seen.failures.empty()) {
            std::cout << seed << " | " << seen.events << " | " << seen.failures.front() << '\n';
            return 1;
        }
    }
    return 0;
}

class Runs {
public:
    void run(std::uint64_t seed) {
        const Plan plan(seed);
        add(seed, plan, run_world(plan, nullptr));
    }

    void tell(std::uint64_t seed, const Plan& plan) {
        const Outcomes seen = run_world(plan, &std::cout);
        for (const std::string& failure : seen.failures) {
            std::cout << "seed " << seed << ": " << failure << '\n';
        }
        count(seen);
    }

    int end() const {
        if (worlds_ == 0) {
            throw Usage("there is no world to run");
        }
        std::cout << worlds_ << " worlds, " << hours_ << " virtual hours, " << requests_ << " requests, "
                  << violations_ << " worlds in which something did not hold\n";
        const std::chrono::duration<double> took = Clock::now() - begun_;
        std::cerr << took.count() << " s\n";
        return violations_ != 0 ? 1 : 0;
    }

    Clock::duration age() const { return Clock::now() - begun_; }

private:
    void add(std::uint64_t seed, const Plan& plan, const Outcomes& seen) {
        count(seen);
        if (!seen.failures.empty()) {
            tell_violation(seed, plan, seen, std::cout);
            std::cout.flush();
        }
    }

    void count(const Outcomes& seen) {
        ++worlds_;
        requests_ += seen.requests;
        violations_ += seen.failures.empty() ? 0 : 1;
        hours_ += static_cast<double>(seen.time) / 3'600'000'000.0;
    }

    const Clock::time_point begun_ = Clock::now();
    std::uint64_t worlds_ = 0;
    std::uint64_t requests_ = 0;
    std::uint64_t violations_ = 0;
    double hours_ = 0;
};

/// Throws Usage for anything but digits.
std::uint64_t number(const std::string& word) {
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 18) {
        throw Usage("\"" + word + "\" is no whole number of at most 18 digits");
    }
    return std::stoull(word);
}

/// `0,3`, or `none`.
std::vector<std::size_t> numbers(const std::string& word, std::size_t end) {
    std::vector<std::size_t> all;
    std::istringstream words(word == "none" ? "" : word);
    for (std::string each; std::getline(words, each, ',');) {
        all.push_back(number(each));
        if (all.back() >= end) {
            throw Usage("there is no fault " + each + ": the world has " + std::to_string(end));
        }
    }
    return all;
}

void run_failed(const std::string& file, Runs& runs) {
    std::ifstream lines(file);
    if (!lines) {
        throw std::runtime_error(file + " cannot be read");
    }
    std::size_t at = 0;
    for (std::string line; std::getline(lines, line);) {
        ++at;
        const std::size_t blank = line.find(' ');
        if (line.empty() || line.front() == '#') {
            continue;
        }
        if (blank == std::string::npos || blank + 1 == line.size()) {
            throw std::runtime_error(file + " line " + std::to_string(at) +
                                     ": wanted are a seed, a blank and a reason");
        }
        try {
            runs.run(number(line.substr(0, blank)));
        } catch (const Usage& wrong) {
            throw std::runtime_error(file + " line " + std::to_string(at) + ": " + wrong.what());
        }
    }
}

int run_as_told(const Words& words) {
    Runs runs;
    const std::size_t count = words.size();
    if (count == 2 && words[0] == "first") {
        return find_first(number(words[1]));
    }
    if (count == 2 && words[0] == "failed") {
        run_failed(words[1], runs);
    } else if ((count == 2 || count == 3) && words[0] == "seed") {
        const std::uint64_t seed = number(words[1]);
        const Plan plan(seed);
        runs.tell(seed, count == 2 ? plan : plan.with_faults(numbers(words[2], plan.fault_count())));
    } else if (count == 3 && words[0] == "seconds") {
        const std::chrono::seconds time(number(words[1]));
        for (std::uint64_t seed = number(words[2]); runs.age() < time; ++seed) {
            runs.run(seed);
        }
    } else if ((count == 1 || count == 2) && number(words[0]) > 0) {
        const std::uint64_t first = count == 2 ? number(words[1]) : 1;
        for (std::uint64_t seed = first; seed < first + number(words[0]); ++seed) {
            runs.run(seed);
        }
    } else {
        throw Usage("a command is missing, or has too many words");
    }
    return runs.end();
}

}  // namespace

int main(int count, char** words) {
    try {
        return run_as_told(Words(words + 1, words + count));
    } catch (const Usage& wrong) {
        std::cerr << "world: " << wrong.what()
                  << "\nusage: world SEEDS [FIRST] | first SEEDS | seconds SECONDS FIRST | failed FILE | "
                     "seed SEED [FAULTS]\n";
        return 2;
    } catch (const std::exception& wrong) {
        std::cerr << "world: " << wrong.what() << '\n';
        return 2;
    }
}
