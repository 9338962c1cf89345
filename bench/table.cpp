// The speed of the window table alone: operations a second of one process and of two, each on a processor of
// its own, over many keys on one table and on one hot key; and, for what the machine itself allows, with a
// table for each and without any memory in common. By the processor time that the processes themselves got:
// other work on the machine spoils that less than the clock.
//
//   table [ROUNDS]
//
// A round runs each of these for a moment, in an order of its own; ratios are made within a round. Intervals
// are of 95%, from the order statistics of the median.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/machine/records.h"
#include "core/machine/windows/window_account.h"
#include "core/table/process.h"

namespace {

using namespace rate_limit;

constexpr std::size_t table_windows = 100'000;
constexpr std::size_t key_count = 10'000;
constexpr std::size_t most_processes = 2;
constexpr std::size_t table_count = most_processes + 1;  // one for each, one for all
constexpr auto warming = std::chrono::milliseconds(5);
constexpr auto measuring = std::chrono::milliseconds(15);
constexpr unsigned most_tries = 10;
constexpr unsigned operations_between_looks = 64;
constexpr Terms terms{{1'000'000'000, 3600}, Truth::local, 1'700'003'600'000, 1'700'000'000'000};

enum class Job : unsigned { hash, apart, together, hot };
constexpr std::array jobs{Job::hash, Job::apart, Job::together, Job::hot};

const char* title(Job job) {
    switch (job) {
        case Job::hash:
            return "no memory in common";
        case Job::apart:
            return "10,000 keys, a table each";
        case Job::together:
            return "10,000 keys, one table";
        case Job::hot:
            return "one key";
    }
    return "";
}

struct alignas(64) Order {
    std::atomic<unsigned> number{0};  // the worker runs what a new number brings
    std::atomic<unsigned> ready{0};   // the last number that it has begun
    std::atomic<unsigned> done{0};
    Job job = Job::hash;
    double operations = 0;
    double seconds = 0;  // processor time
    bool disturbed = false;
};

struct alignas(64) Shared {
    std::atomic<bool> counting{false};
    alignas(64) std::atomic<bool> stop{false};
    std::array<Order, most_processes> orders;
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

/// A request enters, and leaves with a charge. Two operations.
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

/// How often something else took the processor away.
long interruptions() {
    rusage usage{};
    (void)::getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nivcsw;
}

LockUser this_process() {
    return {process_of(static_cast<std::uint32_t>(::getpid())), is_alive};
}

/// The processors that this program may use.
std::vector<int> processors() {
    cpu_set_t cpus;
    std::vector<int> found;
    (void)::sched_getaffinity(0, sizeof(cpus), &cpus);
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (CPU_ISSET(cpu, &cpus)) {
            found.push_back(cpu);
        }
    }
    return found;
}

void keep_to(int cpu) {
    cpu_set_t cpus;
    CPU_ZERO(&cpus);
    CPU_SET(cpu, &cpus);
    (void)::sched_setaffinity(0, sizeof(cpus), &cpus);
}

struct Tables {
    Tables() {
        for (WindowTable& table : all) {
            const std::size_t size = WindowTable::bytes_for(table_windows);
            if (!table.create(shared_memory(size), size, {1, 2})) {
                std::exit(1);
            }
        }
    }

    WindowTable& of(Job job, std::size_t process) { return job == Job::apart ? all.at(process) : all.back(); }

    std::array<WindowTable, table_count> all{WindowTable(this_process()), WindowTable(this_process()),
                                             WindowTable(this_process())};
};

class Worker {
public:
    Worker(Shared& shared, Tables& tables, const std::vector<std::string>& keys, std::size_t which)
        : shared_(shared), order_(shared.orders.at(which)), tables_(tables), keys_(keys), which_(which) {
        for (WindowTable& table : tables_.all) {
            table.set_user(this_process());
        }
        random_ += which * 7919;
    }

    [[noreturn]] void run() {
        for (unsigned last = 0;;) {
            const unsigned number = order_.number;
            if (number == last) {
                ::usleep(20);
                continue;
            }
            last = number;
            order_.ready = number;
            obey();
            order_.done = number;
        }
    }

private:
    void obey() {
        while (!shared_.counting.load(std::memory_order_relaxed)) {
            some();
        }
        std::uint64_t done = 0;
        const long interrupted = interruptions();
        const double before = processor_seconds();
        while (!shared_.stop.load(std::memory_order_relaxed)) {
            some();
            done += 2 * operations_between_looks;
        }
        order_.operations = static_cast<double>(done);
        order_.seconds = processor_seconds() - before;
        order_.disturbed = interruptions() != interrupted;
    }

    void some() {
        WindowTable& table = tables_.of(order_.job, which_);
        for (unsigned i = 0; i < operations_between_looks; ++i) {
            const std::string& key = keys_[order_.job == Job::hot ? 0 : next(random_) % keys_.size()];
            if (order_.job == Job::hash) {
                hashed_ ^= table.id_of(keys_[0]).low + table.id_of(keys_[1]).high;
            } else if (!request(table, key)) {
                std::fputs("refused\n", stderr);
                ::_exit(1);
            }
        }
        asm volatile("" : : "r"(hashed_));
    }

    Shared& shared_;
    Order& order_;
    Tables& tables_;
    const std::vector<std::string>& keys_;
    std::size_t which_;
    std::uint64_t random_ = 88172645463325252;
    std::uint64_t hashed_ = 0;
};

/// Operations a second, in millions, of all processes together.
struct Speed {
    double by_clock = 0;
    double by_processor = 0;
    bool disturbed = false;
};

class Bench {
public:
    explicit Bench(const std::vector<int>& cpus) {
        for (std::size_t i = 0; i < key_count; ++i) {
            keys_.push_back("local/default/3600:203.0.113." + std::to_string(i));
        }
        for (std::size_t which = 0; which < most_processes; ++which) {
            if (::fork() == 0) {
                (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
                keep_to(cpus.at(which));
                Worker(shared_, tables_, keys_, which).run();
            }
        }
    }

    /// Anew as long as other work got in between, for a while.
    Speed measure(Job job, std::size_t first, std::size_t count) {
        Speed speed = measure_once(job, first, count);
        for (unsigned tries = 1; tries < most_tries && speed.disturbed; ++tries) {
            speed = measure_once(job, first, count);
        }
        disturbed_ += speed.disturbed ? 1 : 0;
        return speed;
    }

    /// How many of them never had their processors to themselves.
    unsigned disturbed() const { return disturbed_; }

private:
    Speed measure_once(Job job, std::size_t first, std::size_t count) {
        shared_.counting = false;
        shared_.stop = false;
        for (std::size_t which = first; which < first + count; ++which) {
            shared_.orders.at(which).job = job;
            ++shared_.orders.at(which).number;
        }
        wait(first, count, &Order::ready);
        ::usleep(std::chrono::microseconds(warming).count());
        const auto start = std::chrono::steady_clock::now();
        shared_.counting = true;
        ::usleep(std::chrono::microseconds(measuring).count());
        shared_.stop = true;
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
        wait(first, count, &Order::done);
        Speed speed;
        for (std::size_t which = first; which < first + count; ++which) {
            const Order& order = shared_.orders.at(which);
            speed.by_clock += order.operations / 1e6 / took.count();
            speed.by_processor += order.operations / 1e6 / order.seconds;
            speed.disturbed = speed.disturbed || order.disturbed;
        }
        return speed;
    }

    void wait(std::size_t first, std::size_t count, std::atomic<unsigned> Order::*until) {
        for (std::size_t which = first; which < first + count; ++which) {
            const Order& order = shared_.orders.at(which);
            while (order.*until != order.number) {
                ::usleep(50);
                if (::waitpid(-1, nullptr, WNOHANG) > 0) {
                    std::exit(1);
                }
            }
        }
    }

    Shared& shared_ = *new (shared_memory(sizeof(Shared))) Shared;
    Tables tables_;
    std::vector<std::string> keys_;
    unsigned disturbed_ = 0;
};

struct Interval {
    double low = 0;
    double median = 0;
    double high = 0;
};

/// The k-th value from each end, where no more than 2.5% of samples have fewer than k values beyond the
/// median.
Interval interval_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    double term = 1;
    for (std::size_t i = 0; i < n; ++i) {
        term /= 2;
    }
    std::size_t k = 0;
    double sum = term;
    while (sum <= 0.025) {
        ++k;
        term *= static_cast<double>(n - k + 1) / static_cast<double>(k);
        sum += term;
    }
    k = std::max<std::size_t>(k, 1);
    return {values.at(k - 1), (values.at((n - 1) / 2) + values.at(n / 2)) / 2, values.at(n - k)};
}

struct Figures {
    std::vector<double> one, two, ratio, by_clock;
};

void print(const char* what, const Figures& figures) {
    const Interval ratio = interval_of(figures.ratio);
    std::printf("%-27s one %6.2f M/s, two %6.2f M/s: %.2fx (%.2f-%.2f), by the clock %.2fx\n", what,
                interval_of(figures.one).median, interval_of(figures.two).median, ratio.median, ratio.low,
                ratio.high, interval_of(figures.by_clock).median);
}

/// Each with one process on either processor, and with two; then two on one table beside two on two.
void compare(Bench& bench, unsigned rounds) {
    struct Step {
        Job job;
        std::size_t first, count;
    };
    std::vector<Step> steps;
    for (const Job job : jobs) {
        steps.insert(steps.end(), {{job, 0, 1}, {job, 1, 1}, {job, 0, 2}});
    }
    std::mt19937 random;
    std::array<Figures, jobs.size()> figures;
    std::vector<double> sharing;
    for (unsigned i = 0; i < rounds; ++i) {
        std::shuffle(steps.begin(), steps.end(), random);
        std::array<Speed, jobs.size()> one;
        std::array<Speed, jobs.size()> two;
        for (const Step& step : steps) {
            const Speed speed = bench.measure(step.job, step.first, step.count);
            Speed& sum = (step.count == 1 ? one : two).at(static_cast<unsigned>(step.job));
            const double part = step.count == 1 ? 0.5 : 1;
            sum.by_clock += speed.by_clock * part;
            sum.by_processor += speed.by_processor * part;
        }
        for (std::size_t job = 0; job < jobs.size(); ++job) {
            figures.at(job).one.push_back(one.at(job).by_processor);
            figures.at(job).two.push_back(two.at(job).by_processor);
            figures.at(job).ratio.push_back(two.at(job).by_processor / one.at(job).by_processor);
            figures.at(job).by_clock.push_back(two.at(job).by_clock / one.at(job).by_clock);
        }
        sharing.push_back(two.at(static_cast<unsigned>(Job::together)).by_processor /
                          two.at(static_cast<unsigned>(Job::apart)).by_processor);
    }
    for (const Job job : jobs) {
        print(title(job), figures.at(static_cast<unsigned>(job)));
    }
    const Interval shared = interval_of(sharing);
    std::printf("two on one table do %.2f of what two do on a table each (%.2f-%.2f)\n", shared.median,
                shared.low, shared.high);
    std::printf("%u of %zu runs were disturbed by other work\n", bench.disturbed(), rounds * steps.size());
}

void fill() {
    Tables tables;
    WindowTable& table = tables.all.front();
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
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 21;
    const std::vector<int> cpus = processors();
    if (cpus.size() < most_processes || rounds == 0) {
        std::fputs("table [ROUNDS], on two processors\n", stderr);
        return 1;
    }
    Bench bench(cpus);
    compare(bench, rounds);
    fill();
    return 0;
}
