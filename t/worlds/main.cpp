// Runs the limiter in random worlds:
//   world SEEDS [FIRST]: so many, from a seed on.
//   world seconds SECONDS FIRST: as many as begin in that time.
//   world failed FILE: those of a list of seeds that have failed.
//   world first SEEDS: the first that fails: its seed, the events until then, and why, as a table has it.
//   world seed SEED [FAULTS]: one, and tells what happens in it; with FAULTS alone, as 0,3 or none.
//   world far ...: any of these, in worlds of several data centers, whose seeds are others.
//   world regions ...: the same, and each data center is a region of the store, that writes at home.
// What does not hold ends the program with status 1, and what to type to see it again.

#include <chrono>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "t/worlds/command.h"
#include "t/worlds/runs.h"
#include "t/worlds/violation.h"

namespace {

using rate_limit::world::fault_numbers;
using rate_limit::world::Outcomes;
using rate_limit::world::Places;
using rate_limit::world::Plan;
using rate_limit::world::Runs;
using rate_limit::world::seeds_of;
using rate_limit::world::Usage;
using rate_limit::world::whole_number;
using Words = std::vector<std::string>;

/// Status 1: one fails.
int find_first(std::uint64_t seeds, Places places) {
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const Outcomes seen = run_world(Plan(seed, places), nullptr);
        if (!seen.failures.empty()) {
            std::cout << seed << " | " << seen.events << " | " << seen.failures.front() << '\n';
            return 1;
        }
    }
    return 0;
}

void run_failed(const std::string& file, Runs& runs) {
    std::ifstream lines(file);
    if (!lines) {
        throw std::runtime_error(file + " cannot be read");
    }
    for (const std::uint64_t seed : seeds_of(lines, file)) {
        runs.run(seed);
    }
}

int run_as_told(const Words& words, Places places) {
    Runs runs(std::cout, std::cerr, places);
    const std::size_t count = words.size();
    if (count == 2 && words[0] == "first") {
        const std::uint64_t seeds = whole_number(words[1]);
        return seeds != 0 ? find_first(seeds, places) : throw Usage("there is no world to run");
    }
    if (count == 2 && words[0] == "failed") {
        run_failed(words[1], runs);
    } else if ((count == 2 || count == 3) && words[0] == "seed") {
        const std::uint64_t seed = whole_number(words[1]);
        const Plan plan(seed, places);
        runs.tell(count == 2 ? plan : plan.with_faults(fault_numbers(words[2], plan.fault_count())));
    } else if (count == 3 && words[0] == "seconds") {
        const std::chrono::seconds time(whole_number(words[1], 9));
        for (std::uint64_t seed = whole_number(words[2]); runs.age() < time; ++seed) {
            runs.run(seed);
        }
    } else if ((count == 1 || count == 2) && whole_number(words[0]) > 0) {
        const std::uint64_t first = count == 2 ? whole_number(words[1]) : 1;
        for (std::uint64_t seed = first; seed < first + whole_number(words[0]); ++seed) {
            runs.run(seed);
        }
    } else {
        throw Usage("a command is missing, or has too many words");
    }
    return runs.end();
}

Places places_of(std::string_view word) {
    return word == "far" ? Places::several : word == "regions" ? Places::regions : Places::one;
}

}  // namespace

int main(int count, char** words) {
    try {
        const Places places = count > 1 ? places_of(words[1]) : Places::one;
        return run_as_told(Words(words + (places != Places::one ? 2 : 1), words + count), places);
    } catch (const Usage& wrong) {
        std::cerr << "world: " << wrong.what()
                  << "\nusage: world [far | regions] SEEDS [FIRST] | first SEEDS | seconds SECONDS FIRST | "
                     "failed FILE | "
                     "seed SEED [FAULTS]\n";
        return 2;
    } catch (const std::exception& wrong) {
        std::cerr << "world: " << wrong.what() << '\n';
        return 2;
    }
}
