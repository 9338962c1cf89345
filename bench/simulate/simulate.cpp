// Runs scenarios of cells.cpp, and prints what they came to, a line for each run:
//
//   simulate cells                             names each cell: number, name, seeds, and what it is made of
//   simulate run CELL WAY SEED [REQUESTS]      runs it; REQUESTS: no more than so many, for a short one
//   simulate given FILE WAY SEED NAME=VALUE... runs a schedule, for the calibration
//
// A schedule has a line for each request: microseconds since the start, machine, key, microseconds of its
// response (0: as set). WAY is a name of setup.h, NAME one of set().
//
// Lines are of NAME=VALUE, with tabs between them.

#include <sys/resource.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include "bench/simulate/cells.h"
#include "bench/simulate/world.h"

namespace rate_limit::simulated {

namespace {

Way way_of(std::string_view name) {
    for (const Way way : all_ways) {
        if (name == name_of(way)) {
            return way;
        }
    }
    throw std::runtime_error("no such way: " + std::string(name));
}

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

void run_cell(std::size_t number, Way way, std::uint64_t seed, double most_requests) {
    Setup setup = cells().at(number);
    if (most_requests != 0) {
        setup.seconds = std::min(setup.seconds, most_requests / setup.requests);
    }
    World world(setup, way, seed);
    world.run();
    print_run(world, seed);
}

std::vector<Arrival> read_schedule(const char* path) {
    std::ifstream in(path);
    std::vector<Arrival> arrivals;
    Arrival arrival;
    while (in >> arrival.at >> arrival.machine >> arrival.key >> arrival.response) {
        arrivals.push_back(arrival);
    }
    if (arrivals.empty()) {
        throw std::runtime_error("no schedule in " + std::string(path));
    }
    return arrivals;
}

void set(Setup& setup, std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const double value = std::atof(word.substr(std::min(word.size(), equals + 1)).data());
    const auto count = static_cast<std::size_t>(value);
    if (name == "machines") {
        setup.machines = count;
    } else if (name == "workers") {
        setup.workers = count;
    } else if (name == "limit") {
        setup.rate.limit = static_cast<std::int64_t>(value);
    } else if (name == "period") {
        setup.rate.period = static_cast<std::int64_t>(value);
    } else if (name == "keys") {
        setup.keys = count;
    } else if (name == "response_us") {
        setup.response.fixed = value;
    } else if (name == "response_rest_us") {
        setup.response.mean_of_rest = value;
    } else if (name == "latency_us") {
        setup.latency.fixed = value;
    } else if (name == "latency_rest_us") {
        setup.latency.mean_of_rest = value;
    } else if (name == "lag_us") {
        setup.lag.fixed = value;
    } else {
        throw std::runtime_error("no such thing to set: " + std::string(word));
    }
}

void run_given(const char* schedule, Way way, std::uint64_t seed, char** words) {
    Setup setup;
    setup.response_spread = 0;
    for (; *words != nullptr; ++words) {
        set(setup, *words);
    }
    World world(setup, way, seed);
    world.run(read_schedule(schedule));
    print_run(world, seed);
}

int run(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if (what == "cells") {
        print_cells();
    } else if (what == "run" && (argc == 5 || argc == 6)) {
        run_cell(std::strtoul(argv[2], nullptr, 10), way_of(argv[3]), std::strtoull(argv[4], nullptr, 10),
                 argc == 6 ? std::atof(argv[5]) : 0);
    } else if (what == "given" && argc >= 5) {
        run_given(argv[2], way_of(argv[3]), std::strtoull(argv[4], nullptr, 10), argv + 5);
    } else {
        std::fputs("simulate cells | run CELL WAY SEED [REQUESTS] | given FILE WAY SEED NAME=VALUE...\n",
                   stderr);
        return 2;
    }
    return 0;
}

}  // namespace

}  // namespace rate_limit::simulated

int main(int argc, char** argv) {
    try {
        return rate_limit::simulated::run(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "simulate: %s\n", error.what());
        return 1;
    }
}
