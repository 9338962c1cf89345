// Runs scenarios of cells.cpp, and prints what they came to, a line for each run:
//
//   simulate cells                             names each cell: number, name, seeds, and what it is made of
//   simulate run CELL WAY SEED [REQUESTS]      runs it; REQUESTS: no more than so many, for a short one
//   simulate given FILE WAY SEED NAME=VALUE... runs a schedule, for the calibration
//
// WAY is a name of setup.h; command.h says what a schedule has, and what NAME may be. What makes no sense
// ends the program with status 2, and a line that names the word, or the line of the schedule.
//
// Lines are of NAME=VALUE, with tabs between them.

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/simulate/cells.h"
#include "bench/simulate/command.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

namespace {

/// Which part of all requests is of the busiest key.
double busiest_share(const Setup& setup) {
    double sum = 0;
    for (std::size_t i = 0; i < setup.keys; ++i) {
        sum += std::pow(static_cast<double>(i + 1), -setup.zipf);
    }
    return setup.hot_share + (1 - setup.hot_share) / sum;
}

/// Which part of a key's requests the machine with the fewest gets.
double least_share(const Setup& setup) {
    double sum = 0;
    for (std::size_t i = 0; i < setup.machines; ++i) {
        sum += 1 / static_cast<double>(i + 1);
    }
    return setup.skew == Skew::uniform    ? 1 / static_cast<double>(setup.machines)
           : setup.skew == Skew::harmonic ? 1 / static_cast<double>(setup.machines) / sum
                                          : 0;
}

void print_cells() {
    std::size_t number = 0;
    for (const Setup& cell : cells()) {
        std::printf("cell=%zu\tname=%s\tseeds=%u\tmachines=%zu\tlimit=%" PRId64 "\tperiod=%" PRId64
                    "\tload=%g\trequests=%g\tseconds=%g\tresponse_ms=%g\tlag_ms=%g\tkeys=%zu\tbusiest=%g\t"
                    "least=%g\tcut=%g\tfaults=%d\n",
                    number++, cell.name.c_str(), cell.seeds, cell.machines, cell.rate.limit, cell.rate.period,
                    cell.load, cell.requests, cell.seconds,
                    cell.response.fixed * (1 + cell.response_spread) / 1000, cell.lag.fixed / 1000, cell.keys,
                    busiest_share(cell), least_share(cell), cell.cut.until - cell.cut.from,
                    cell.has_faults() ? 1 : 0);
    }
}

void print_calls(const Measures& measures) {
    static constexpr const char* names[] = {"checks_primary", "increments", "charges",
                                            "repairs",        "refunds",    "reserves"};
    static_assert(std::size(names) == command_count);
    for (const auto phase : {Measures::until, Measures::after}) {
        const char* when = phase == Measures::until ? "until" : "after";
        std::printf("\trequests_%s=%" PRIu64 "\tchecks_replica_%s=%" PRIu64, when, measures.requests[phase],
                    when, measures.calls[phase][command_count]);
        for (std::size_t i = 0; i < std::size(names); ++i) {
            std::printf("\t%s_%s=%" PRIu64, names[i], when, measures.calls[phase][i]);
        }
    }
}

void print_run(World& world, std::uint64_t seed) {
    const Measures& found = world.measures;
    std::printf("way=%s\tseed=%" PRIu64 "\tadmitted=%" PRIu64 "\trejected=%" PRIu64 "\tfailed=%" PRIu64
                "\tin_doubt=%" PRId64 "\twindows=%" PRIu64 "\treached=%" PRIu64 "\tover=%" PRId64
                "\tmost_over=%" PRId64 "\tunspent_then=%" PRId64 "\tmost_unspent_then=%" PRId64
                "\tunspent_at_last=%" PRId64 "\tlongest_unspent_ms=%" PRId64 "\tunfair=%" PRIu64,
                name_of(world.way), seed, found.admitted, found.rejections, found.failed, found.in_doubt,
                found.windows_counted, found.windows_reached, found.over, found.most_over, found.unspent_then,
                found.most_unspent_then, found.unspent_at_last, found.longest_unspent / 1000, found.unfair);
    print_calls(found);
    Micros sum = 0;
    Micros most = 0;
    for (const auto& shard : world.shards) {
        sum += shard->primary().busy();
        most = std::max(most, shard->primary().busy());
    }
    const double seconds = static_cast<double>(world.time()) / 1e6;
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    std::printf("\tbusiest_primary=%.6f\tmean_primary=%.6f\trecords=%zu\tevents=%" PRIu64 "\tcpu=%.3f\n",
                static_cast<double>(most) / 1e6 / seconds,
                static_cast<double>(sum) / 1e6 / seconds / static_cast<double>(world.shards.size()),
                world.records(), world.events.count(),
                static_cast<double>(used.ru_utime.tv_sec) + static_cast<double>(used.ru_utime.tv_usec) / 1e6);
}

std::uint64_t seed_of(const std::string& word) {
    return static_cast<std::uint64_t>(read_whole(word, "seed", 0, 999'999'999'999'999'999));
}

void run_cell(const Words& words) {
    const auto last = static_cast<std::int64_t>(cells().size()) - 1;
    Setup setup = cells()[static_cast<std::size_t>(read_whole(words[1], "number of a cell", 0, last))];
    const Way way = way_of(words[2]);
    const std::uint64_t seed = seed_of(words[3]);
    if (words.size() > 4) {
        const std::int64_t most = read_whole(words[4], "number of requests at most", 1, max_limit);
        setup.seconds = std::min(setup.seconds, static_cast<double>(most) / setup.requests);
    }
    World world(setup, way, seed);
    world.run();
    print_run(world, seed);
}

void run_given(const Words& words) {
    const Way way = way_of(words[2]);
    const std::uint64_t seed = seed_of(words[3]);
    const Setup setup = read_setup(Words(words.begin() + 4, words.end()));
    std::ifstream lines(words[1]);
    const std::vector<Arrival> schedule = read_schedule(lines, words[1], setup);
    World world(setup, way, seed);
    world.run(schedule);
    print_run(world, seed);
}

void run(const Words& words) {
    const std::string what = words.empty() ? "" : words[0];
    if (what == "cells" && words.size() == 1) {
        print_cells();
    } else if (what == "run" && (words.size() == 4 || words.size() == 5)) {
        run_cell(words);
    } else if (what == "given" && words.size() >= 4) {
        run_given(words);
    } else {
        throw std::invalid_argument(
            "wanted is cells | run CELL WAY SEED [REQUESTS] | given FILE WAY SEED NAME=VALUE...");
    }
}

}  // namespace

}  // namespace rate_limit::simulated

int main(int count, char** words) {
    try {
        rate_limit::simulated::run(rate_limit::simulated::Words(words + 1, words + count));
        return 0;
    } catch (const std::invalid_argument& wrong) {
        std::fprintf(stderr, "simulate: %s\n", wrong.what());
        return 2;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "simulate: %s\n", error.what());
        return 1;
    }
}
