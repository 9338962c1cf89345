// The cost of a rejection for the list of the keys that are rejected most often: of a key that is listed, one
// of few and one of as many as there are places; of keys that come once; and, for what a page costs, a read
// of the areas of 4 workers. In processor time of the thread: the least of some rounds.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <unistd.h>

#include "bench/processor_time.h"
#include "core/counts/offenders.h"
#include "core/table/process.h"

namespace {

using namespace rate_limit;

constexpr std::size_t workers = 4;
constexpr std::uint64_t notes = 2'000'000;
constexpr unsigned rounds = 7;
constexpr unsigned reads = 200;
constexpr Millis now = 1'700'000'000'000;

/// Nanoseconds for each of `count` things that `run` does.
template <typename Run>
double least(std::uint64_t count, Run run) {
    return 1e9 * least_of(rounds, count, run);
}

/// The id of a key, as a digest would have it.
std::uint64_t id_of(std::uint64_t key) {
    return (key + 1) * 0x9e3779b97f4a7c15;
}

struct Memory {
    Memory()
        : size(Offenders::bytes_for(workers)),
          at(std::aligned_alloc(Offenders::alignment, size / Offenders::alignment * Offenders::alignment)) {
        std::fill_n(static_cast<char*>(at), size, '\0');
        if (!offenders.use(at, size, {process_of(static_cast<std::uint32_t>(::getpid())), is_alive}, workers,
                           now)) {
            std::exit(1);
        }
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory() { std::free(at); }

    double note_of(std::uint64_t keys) {
        std::uint64_t key = 0;
        return least(notes, [&] {
            for (std::uint64_t i = 0; i < notes; ++i) {
                offenders.note({id_of(key++ % keys), 1, false, "203.0.113.7"}, now);
            }
        });
    }

    std::size_t size;
    void* at;
    Offenders offenders;
};

}  // namespace

int main() {
    std::printf("a rejection of one of 4 keys:   %5.1f ns\n", Memory().note_of(4));
    std::printf("of one of %zu, all listed:       %5.1f ns\n", Offenders::most_keys,
                Memory().note_of(Offenders::most_keys));
    Memory flooded;
    std::printf("of a key that is new:           %5.1f ns\n", flooded.note_of(~std::uint64_t{0}));
    flooded.offenders.keep_keys(true);
    std::printf("the same, whose text is kept:   %5.1f ns\n", flooded.note_of(~std::uint64_t{0}));
    for (std::uint32_t worker = 2; worker <= workers; ++worker) {
        (void)flooded.offenders.use(flooded.at, flooded.size,
                                    {{worker, 0}, [](const Process& /*process*/) { return true; }}, workers,
                                    now);
        (void)flooded.note_of(1000);
    }
    const double read = least(reads, [&] {
        for (unsigned i = 0; i < reads; ++i) {
            if (flooded.offenders.read(now).keys.empty()) {
                std::exit(1);
            }
        }
    });
    std::printf("a read of %zu areas, %zu in use: %5.1f us\n", flooded.offenders.areas(), workers,
                read / 1000);
    return 0;
}
