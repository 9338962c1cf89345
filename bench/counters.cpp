// The cost of a count for a worker, and whether workers wait for one another when they count: nanoseconds of
// processor time for each count of one process, of two at the same time, each on a processor of its own, and
// of two where both have to write the same cache line, as they would without slots. The least of some rounds.
// Then the cost of the sum over all slots for the one who reads.

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "bench/processor_time.h"
#include "core/counts/counter_table.h"
#include "core/table/process.h"

namespace {

using namespace rate_limit;

constexpr std::size_t size = std::size_t{1} << 20U;
constexpr std::size_t workers = 2;
constexpr std::uint64_t counts = 5'000'000;
constexpr unsigned rounds = 7;
constexpr CounterTable::Name name(0x1234567);

[[noreturn]] void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

/// Memory that the processes of a round share.
struct Shared {
    std::atomic<unsigned> ready;
    alignas(64) std::atomic<std::uint64_t> line;
    alignas(64) double nanoseconds[workers];
};

LockUser this_process() {
    return {process_of(static_cast<std::uint32_t>(::getpid())), is_alive};
}

void keep_to(unsigned processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    if (::sched_setaffinity(0, sizeof set, &set) != 0) {
        fail("sched_setaffinity");
    }
}

/// So many processes count at the same time. Nanoseconds for each count of the slower one.
template <typename Count>
double together(unsigned processes, Shared& shared, Count count) {
    shared.ready = 0;
    for (unsigned i = 0; i < processes; ++i) {
        const pid_t child = ::fork();
        if (child < 0) {
            fail("fork");
        }
        if (child == 0) {
            keep_to(i);
            auto add = count();
            ++shared.ready;
            while (shared.ready < processes) {
            }
            const double before = thread_seconds();
            for (std::uint64_t n = 0; n < counts; ++n) {
                add(n);
            }
            shared.nanoseconds[i] = (thread_seconds() - before) / counts * 1e9;
            std::_Exit(0);
        }
    }
    for (unsigned i = 0; i < processes; ++i) {
        int status = 0;
        if (::wait(&status) < 0 || status != 0) {
            fail("a process");
        }
    }
    return *std::max_element(shared.nanoseconds, shared.nanoseconds + processes);
}

template <typename Count>
double least(unsigned processes, Shared& shared, Count count) {
    double least = 1e9;
    for (unsigned round = 0; round < rounds; ++round) {
        least = std::min(least, together(processes, shared, count));
    }
    return least;
}

void* shared_memory(std::size_t bytes) {
    void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        fail("mmap");
    }
    return at;
}

}  // namespace

int main() {
    auto& shared = *static_cast<Shared*>(shared_memory(sizeof(Shared)));
    void* memory = shared_memory(size);
    CounterTable table;
    if (!table.use(memory, size, this_process(), workers)) {
        fail("create");
    }
    {
        CounterTable::Naming naming(table);
        naming.begin();
        naming.keep(name);
        if (!naming.add(name)) {
            fail("add");
        }
    }
    const auto own_slot = [&table, memory] {
        (void)table.use(memory, size, this_process(), workers);
        return [group = CounterTable::Group(table, name, name)](std::uint64_t n) mutable {
            group.add(n % CounterTable::group_size, 1);
        };
    };
    const auto one_line = [&shared] {
        return [&shared](std::uint64_t /*n*/) { shared.line.fetch_add(1, std::memory_order_relaxed); };
    };
    std::printf("a count of one process:          %6.1f ns\n", least(1, shared, own_slot));
    std::printf("of two at the same time:         %6.1f ns\n", least(2, shared, own_slot));
    std::printf("of two that write one line:      %6.1f ns\n", least(2, shared, one_line));

    CounterTable::Group group(table, name, name);
    std::uint64_t sum = 0;
    const double before = thread_seconds();
    for (std::uint64_t n = 0; n < counts / 100; ++n) {
        sum += group.count(n % CounterTable::group_size);
    }
    std::printf("the sum over %zu slots:           %6.1f ns\n", table.slots(),
                (thread_seconds() - before) / (counts / 100) * 1e9);
    return sum != 0 ? 0 : 1;
}
