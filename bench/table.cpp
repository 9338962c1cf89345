// What the window table alone does: operations a second of one process and of two, each on a processor of its
// own, over many keys and on one hot key; and with a table for each, which is what the machine allows. By the
// processor time that the processes themselves got: other work on the machine spoils that less than the
// clock.
//
//   c++ -std=c++17 -O2 -Isrc -o build/bench-table bench/table.cpp src/core/*.cpp && build/bench-table [PAIRS]

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/process.h"
#include "core/window_account.h"
#include "core/window_table.h"

namespace {

using namespace rate_limit;

constexpr std::size_t table_windows = 100'000;
constexpr std::size_t most_processes = 2;
constexpr auto duration = std::chrono::milliseconds(100);
constexpr unsigned operations_between_looks = 256;
constexpr Terms terms{{1'000'000'000, 3600}, Truth::local, 1'700'003'600'000, 1'700'000'000'000};

struct alignas(64) Counter {
    std::atomic<std::uint64_t> operations{0};
    std::atomic<double> seconds{0};  // of processor time
};

struct Shared {
    std::atomic<unsigned> ready{0};
    std::atomic<bool> go{false};
    std::atomic<bool> stop{false};
    std::array<Counter, most_processes> counters;
};

void* shared_memory(std::size_t size) {
    void* at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        std::perror("mmap");
        std::exit(1);
    }
    return at;
}

std::uint64_t next(std::uint64_t& state) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/// What a request does: it enters, and leaves with a charge. Two operations.
bool request(WindowTable& table, std::string_view identity) {
    const WindowId id = table.id_of(identity);
    Ticket ticket = 0;
    bool admitted = false;
    const bool room = table.update(id, terms.now, [&](WindowRecord& record) {
        admitted = enter(record, terms);
        ticket = record.ticket;
    });
    return room && admitted && table.change(id, [&](WindowRecord& record) {
        leave(record, ticket);
        charge(record, terms, 1);
    });
}

double processor_seconds() {
    timespec spent{};
    (void)::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &spent);
    return static_cast<double>(spent.tv_sec) + static_cast<double>(spent.tv_nsec) / 1e9;
}

[[noreturn]] void work(Shared& shared, WindowTable& table, const std::vector<std::string>& keys,
                       std::size_t which) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(which, &cpus);
    (void)::sched_setaffinity(0, sizeof(cpus), &cpus);
    table.set_user({process_of(static_cast<std::uint32_t>(::getpid())), is_alive});
    std::uint64_t random = 88172645463325252 + which * 7919;
    ++shared.ready;
    while (!shared.go) {
    }
    std::uint64_t done = 0;
    const double before = processor_seconds();
    while (!shared.stop.load(std::memory_order_relaxed)) {
        for (unsigned i = 0; i < operations_between_looks; ++i) {
            if (!request(table, keys[next(random) % keys.size()])) {
                std::fputs("refused\n", stderr);
                ::_exit(1);
            }
        }
        done += 2 * operations_between_looks;
    }
    shared.counters[which].operations = done;
    shared.counters[which].seconds = processor_seconds() - before;
    ::_exit(0);
}

using Tables = std::array<std::unique_ptr<WindowTable>, most_processes>;

Tables make_tables(bool apart) {
    const std::size_t size = WindowTable::bytes_for(table_windows);
    const LockUser user{process_of(static_cast<std::uint32_t>(::getpid())), is_alive};
    void* memory = nullptr;
    Tables tables;
    for (auto& table : tables) {
        table = std::make_unique<WindowTable>(user);
        const bool is_new = apart || memory == nullptr;
        memory = is_new ? shared_memory(size) : memory;
        if (!(is_new ? table->create(memory, size, {1, 2}) : table->attach(memory, size))) {
            std::exit(1);
        }
    }
    return tables;
}

/// Operations a second, in millions.
struct Speed {
    double by_clock = 0;
    double by_processor = 0;  // of all processes together
};

Speed measure(const Tables& tables, const std::vector<std::string>& keys, std::size_t processes,
              std::size_t first = 0) {
    static auto* memory = shared_memory(sizeof(Shared));
    auto& shared = *new (memory) Shared;
    for (std::size_t i = 0; i < processes; ++i) {
        if (::fork() == 0) {
            const std::size_t which = (first + i) % most_processes;
            work(shared, *tables[which], keys, which);
        }
    }
    while (shared.ready != processes) {
        ::usleep(100);
    }
    const auto start = std::chrono::steady_clock::now();
    shared.go = true;
    ::usleep(std::chrono::microseconds(duration).count());
    shared.stop = true;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    for (std::size_t i = 0; i < processes; ++i) {
        int status = 0;
        if (::wait(&status) < 0 || status != 0) {
            std::exit(1);
        }
    }
    Speed speed;
    for (const Counter& counter : shared.counters) {
        const auto operations = static_cast<double>(counter.operations) / 1e6;
        if (operations > 0) {
            speed.by_clock += operations / took.count();
            speed.by_processor += operations / counter.seconds;
        }
    }
    return speed;
}

/// What this share of the values lies below.
double quantile(std::vector<double> values, double share) {
    std::sort(values.begin(), values.end());
    return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * share)];
}

/// `apart`: each process has a table of its own, which is what the machine itself allows.
void compare(const char* what, std::size_t count, bool apart, unsigned pairs) {
    Tables tables = make_tables(apart);
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < count; ++i) {
        keys.push_back("api/default/3600:203.0.113." + std::to_string(i));
    }
    std::vector<double> ones;
    std::vector<double> twos;
    std::vector<double> by_clock;
    std::vector<double> by_processor;
    for (unsigned i = 0; i < pairs; ++i) {
        const Speed one = measure(tables, keys, 1, i);
        const Speed two = measure(tables, keys, 2);
        ones.push_back(one.by_processor);
        twos.push_back(two.by_processor);
        by_clock.push_back(two.by_clock / one.by_clock);
        by_processor.push_back(two.by_processor / one.by_processor);
    }
    for (const double share : {0.5, 0.9}) {
        std::printf("%-12s %s: one %6.2f M/s, two %6.2f M/s; pairs %.2fx, by the clock %.2fx\n", what,
                    share < 0.9 ? "median" : "best 10%", quantile(ones, share), quantile(twos, share),
                    quantile(by_processor, share), quantile(by_clock, share));
    }
}

void fill() {
    const Tables tables = make_tables(false);
    WindowTable& table = *tables[0];
    const std::size_t count = table.capacity() * 8 / 10;
    const double before = processor_seconds();
    for (std::size_t i = 0; i < count; ++i) {
        if (!request(table, "fill " + std::to_string(i))) {
            std::exit(1);
        }
    }
    std::printf("new windows up to 80%%: %.0f ns each\n",
                (processor_seconds() - before) * 1e9 / static_cast<double>(count));
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned pairs = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 21;
    compare("10,000 apart", 10'000, true, pairs);
    compare("10,000 keys", 10'000, false, pairs);
    compare("one key", 1, false, pairs);
    fill();
    return 0;
}
