// Processes count in one table while others of them are killed, at any moment, also while they hold locks.

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include <sys/wait.h>

#include <gtest/gtest.h>

#include "core/machine/records/window_record.h"
#include "table_memory.h"

namespace rate_limit::window_table_stress_test {
namespace {

constexpr std::size_t workers = 4;
constexpr std::size_t without_journal = 3;  // this worker has no journal
constexpr std::size_t clients = 40;         // windows that all workers charge
constexpr std::size_t passing = 48;         // windows that all workers open and end, to use up slots
constexpr auto duration = std::chrono::milliseconds(2500);
constexpr std::int64_t least_kills = 21;  // on a machine where they take longer than that
constexpr auto longest_wait = std::chrono::seconds(20);

constexpr Millis ended = 1;  // a reset long ago

/// Ends a test in which a process waits for a lock for ever.
class WindowTableStress : public testing::Test {
protected:
    WindowTableStress() { (void)::alarm(60); }
    ~WindowTableStress() override { (void)::alarm(0); }
};

/// Notes of a worker outside the table: it counts a charge as begun before it makes it, and as done after
/// that.
struct alignas(64) Journal {
    std::array<std::atomic<std::int64_t>, clients> begun{};
    std::array<std::atomic<std::int64_t>, clients> done{};
    std::atomic<std::int64_t> broken{0};
    std::atomic<std::int64_t> refused{0};
};

struct Shared {
    std::array<Journal, workers> journals;
    std::atomic<bool> stop{false};
};

WindowId client_id(std::size_t client) {
    Ids ids(client + 1);
    return ids.next();
}

WindowId passing_id(std::uint64_t number) {
    Ids ids(1000 + number % passing);
    return ids.next();
}

/// Every field follows from the count, so that a record made of two halves shows.
void fill(WindowRecord& record, std::int64_t used) {
    record.reset = table_now + 60'000 + used;
    record.used = used;
    const auto bits = static_cast<std::uint64_t>(used);
    record.limit = (bits + 1'000'000) & 0xff'ffff'ffff;
    record.events = (bits * 11) & 0xf'ffff;
    record.same_answers = (bits * 13) & 7;
    record.leased = (bits * 7) & 0xff'ffff'ffff;
    record.unanswered = (bits * 3) & 0x7f'ffff;
    record.answered = bits % 2 != 0;
    record.lasting = bits % 3 == 0;
    record.asked_or_told = static_cast<std::uint32_t>(bits * 13);
    record.changed = static_cast<std::uint32_t>(bits * 17);
    record.ticket = static_cast<Ticket>(used * 5);
    record.in_flight = static_cast<std::uint32_t>(used) & WindowRecord::max_in_flight;
}

bool is_whole(const WindowRecord& record) {
    WindowRecord expected;
    expected.id = record.id;
    fill(expected, record.used);
    expected.reset = record.reset == ended ? ended : expected.reset;
    return record == expected;
}

/// Counts one more in this id's window, and then lets it end or be forgotten, or not.
void count_whole(WindowTable& table, Journal& journal, const WindowId& id,
                 std::optional<Millis> reset = std::nullopt) {
    const bool room = table.update(id, table_now, [&](WindowRecord& record) {
        if (record.reset != 0 && !is_whole(record)) {
            ++journal.broken;
        }
        fill(record, record.used + 1);
        record.reset = reset.value_or(record.reset);
    });
    if (!room) {
        ++journal.refused;
    }
}

/// Lets a window open, end or be forgotten.
void pass_by(WindowTable& table, Journal& journal, Ids& random) {
    // A window that never comes again: where there is no room, another one is evicted for it.
    if (random.number() % 8 == 0) {
        count_whole(table, journal, random.next(), ended);
        return;
    }
    constexpr std::optional<Millis> resets[] = {std::nullopt, ended, 0};
    count_whole(table, journal, passing_id(random.number()), resets[random.number() % 3]);
}

void walk(WindowTable& table, Journal& journal, std::size_t set) {
    for (const Record& entry : table.records_of(set)) {
        const auto record = entry.as<WindowRecord>();
        if (!is_whole(record)) {
            ++journal.broken;
        }
    }
}

void work(Shared& shared, TableMemory& memory, std::size_t worker) {
    Journal& journal = shared.journals.at(worker);
    WindowTable table(this_process());
    if (!table.attach(memory.at(), memory.size())) {
        ++journal.broken;
    }
    Ids random(static_cast<std::uint64_t>(::getpid()));
    if (worker == without_journal) {
        table.leave(0);
    }
    while (!shared.stop.load(std::memory_order_relaxed)) {
        if (random.number() % 64 == 0) {
            walk(table, journal, random.number() % table.sets());
            continue;
        }
        if (random.number() % 4 == 0) {
            pass_by(table, journal, random);
            continue;
        }
        const std::size_t client = random.number() % clients;
        journal.begun.at(client).fetch_add(1, std::memory_order_relaxed);
        count_whole(table, journal, client_id(client));
        journal.done.at(client).fetch_add(1, std::memory_order_relaxed);
    }
}

class Crew {
public:
    Crew(Shared& shared, TableMemory& memory) : shared_(shared), memory_(memory) {
        for (std::size_t i = 0; i < workers; ++i) {
            start(i);
        }
    }

    void replace(std::size_t worker) {
        (void)::kill(pids_.at(worker), SIGKILL);
        (void)::waitpid(pids_.at(worker), nullptr, 0);
        start(worker);
    }

    /// Tells all workers to stop; true if all of them do.
    bool stop() {
        shared_.stop = true;
        const auto deadline = std::chrono::steady_clock::now() + longest_wait;
        bool all = true;
        for (const pid_t pid : pids_) {
            int status = 0;
            pid_t ended = 0;
            while ((ended = ::waitpid(pid, &status, WNOHANG)) == 0 &&
                   std::chrono::steady_clock::now() < deadline) {
                std::this_thread::yield();
            }
            if (ended == 0) {
                (void)::kill(pid, SIGKILL);
                (void)::waitpid(pid, &status, 0);
            }
            all = all && ended == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        return all;
    }

private:
    void start(std::size_t worker) {
        pids_.at(worker) = in_child([&] { work(shared_, memory_, worker); });
    }

    Shared& shared_;
    TableMemory& memory_;
    std::array<pid_t, workers> pids_{};
};

TEST_F(WindowTableStress, KilledWorkersWedgeNobodyAndSpoilNoCount) {
    const TableMemory beside(sizeof(Shared));
    Shared& shared = *new (beside.at()) Shared;
    // Few sets, so that workers meet in them: clients' windows fill them to less than half, passing ones the
    // rest.
    TestTable made(92);
    for (std::size_t client = 0; client < clients; ++client) {
        ASSERT_TRUE(
            made.table.update(client_id(client), table_now, [](WindowRecord& record) { fill(record, 0); }));
    }

    std::int64_t kills = 0;
    {
        Crew crew(shared, made.memory);
        Ids random(1);
        const auto end = std::chrono::steady_clock::now() + duration;
        while (kills < least_kills || std::chrono::steady_clock::now() < end) {
            std::this_thread::sleep_for(std::chrono::microseconds(random.number() % 2000));
            crew.replace(random.number() % workers);
            ++kills;
        }
        EXPECT_TRUE(crew.stop()) << "a worker waits for ever";
    }

    WindowTable table = view_of(made.memory, this_process());
    std::int64_t uncertain = 0;
    std::int64_t counted = 0;
    for (std::size_t client = 0; client < clients; ++client) {
        std::int64_t begun = 0;
        std::int64_t done = 0;
        for (const Journal& journal : shared.journals) {
            begun += journal.begun.at(client);
            done += journal.done.at(client);
        }
        const auto record = table.find<WindowRecord>(client_id(client));
        ASSERT_TRUE(record);
        EXPECT_LE(done, record->used);
        EXPECT_LE(record->used, begun);
        uncertain += begun - done;
        counted += record->used;
    }
    EXPECT_LE(uncertain, kills);
    EXPECT_GT(counted, kills);
    for (const Journal& journal : shared.journals) {
        EXPECT_EQ(journal.broken, 0);
        EXPECT_EQ(journal.refused, 0);
    }
    std::set<std::pair<std::uint64_t, std::uint64_t>> seen;
    for (const WindowRecord& record : contents_of(table)) {
        EXPECT_TRUE(is_whole(record));
        EXPECT_TRUE(seen.insert({record.id.high, record.id.low}).second) << "one id is there twice";
    }
}

/// Starts a child that calls `held` while it holds this id's record.
template <typename Held>
pid_t child_in_lock(TestTable& made, const WindowId& id, Held held) {
    return in_child([&] {
        made.table.set_user(this_process());
        (void)made.table.update(id, table_now, [&](WindowRecord& record) {
            ++record.used;
            held();
        });
    });
}

TEST_F(WindowTableStress, ADeadProcessesLockIsTakenOver) {
    TestTable made(46);
    made.table.set_user(this_process());
    ASSERT_TRUE(count_one(made.table, {1, 1}));
    for (const WindowId& id :
         {WindowId{1, 1}, WindowId{2, 2}}) {  // by the record's lock; under both sets' locks
        const pid_t child = child_in_lock(made, id, [] { (void)::raise(SIGKILL); });
        siginfo_t info;
        ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
        EXPECT_EQ(made.table.find<WindowRecord>({1, 1})->used, 1);
        EXPECT_FALSE(made.table.find<WindowRecord>({2, 2}));
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    }
    ASSERT_TRUE(count_one(made.table, {2, 2}));
    EXPECT_EQ(made.table.find<WindowRecord>({2, 2})->used, 1);
}

TEST_F(WindowTableStress, ALivingProcessesLockIsWaitedFor) {
    TestTable made(46);
    made.table.set_user(this_process());
    ASSERT_TRUE(count_one(made.table, {1, 1}));
    const TableMemory beside(sizeof(std::atomic<bool>));
    auto& inside = *new (beside.at()) std::atomic<bool>(false);
    const pid_t child = child_in_lock(made, {1, 1}, [&] {
        inside = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    });
    while (!inside) {
        std::this_thread::yield();
    }
    EXPECT_EQ(made.table.find<WindowRecord>({1, 1})->used, 2);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace rate_limit::window_table_stress_test
