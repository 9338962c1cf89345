#include "core/counts/offenders.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::offenders_test {
namespace {

constexpr Millis start = table_now / Offenders::generation * Offenders::generation;
constexpr std::size_t workers = 2;

/// Processes that are only numbers: those from 1000 on are dead.
bool is_small(const Process& process) {
    return process.pid < 1000;
}

LockUser user(std::uint32_t pid) {
    return {{pid, 1}, is_small};
}

struct View : Offenders {
    View(const TableMemory& memory, std::uint32_t pid) {
        EXPECT_TRUE(use(memory.at(), memory.size(), user(pid), workers, start));
    }
};

/// Memory for two workers, and a view of it.
struct Memory : TableMemory {
    explicit Memory(std::size_t size = Offenders::bytes_for(workers)) : TableMemory(size) {
        EXPECT_TRUE(all.use(at(), size, user(1), workers, start));
    }
    Offenders all;
};

void note(Offenders& offenders, std::uint64_t id, Millis now = start, const std::string& key = "key",
          bool dry_run = false) {
    offenders.note({id, id + 1'000'000, dry_run, key}, now);
}

/// The report's entry for one id; all 0: there is none.
Offenders::Offender of(const Offenders::Report& report, std::uint64_t id) {
    const auto found = std::find_if(report.keys.begin(), report.keys.end(),
                                    [id](const Offenders::Offender& each) { return each.id == id; });
    return found != report.keys.end() ? *found : Offenders::Offender{};
}

TEST(Offenders, CountsEachKey) {
    Memory memory;
    for (std::uint64_t id = 1; id <= 5; ++id) {
        for (std::uint64_t i = 0; i < id; ++i) {
            note(memory.all, id, start + static_cast<Millis>(i), "key", id == 4 && i >= 1);
        }
    }
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(report.total, 15U);
    EXPECT_EQ(report.since, start);
    ASSERT_EQ(report.keys.size(), 5U);
    for (std::size_t i = 0; i < 5; ++i) {
        const Offenders::Offender& key = report.keys[i];
        EXPECT_EQ(key.id, 5 - i) << "the heaviest first";
        EXPECT_EQ(key.limit, key.id + 1'000'000);
        EXPECT_EQ(key.rejected, 5 - i);
        EXPECT_EQ(key.over, 0U);
        EXPECT_EQ(key.dry_run, key.id == 4 ? 3U : 0U);
        EXPECT_EQ(key.last, start + static_cast<Millis>(key.id) - 1);
        EXPECT_EQ(key.key, "") << "no text unless it is kept";
    }
}

TEST(Offenders, HasEveryHeavyKeyInAFlood) {
    Memory memory;
    std::map<std::uint64_t, std::uint64_t> truth;
    const std::uint64_t rounds = 100'000;
    std::uint64_t random = 88172645463325252;
    for (std::uint64_t i = 0; i < rounds; ++i) {
        random ^= random << 13U;
        random ^= random >> 7U;
        random ^= random << 17U;
        // One in 20, one in 40, ..., and keys that come once.
        const std::uint64_t key = random % 20 == 0   ? 1
                                  : random % 40 == 1 ? 2
                                  : random % 50 == 2 ? 3
                                                     : i + 100;
        ++truth[key];
        note(memory.all, key);
    }
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(report.total, rounds);
    EXPECT_EQ(report.keys.size(), Offenders::most_keys);
    std::uint64_t sum = 0;
    for (const Offenders::Offender& key : report.keys) {
        EXPECT_GE(key.rejected, truth[key.id]);
        EXPECT_LE(key.certain(), truth[key.id]);
        EXPECT_LE(key.over, rounds / Offenders::most_keys);
        sum += key.rejected;
    }
    EXPECT_EQ(sum, rounds);
    for (const auto& [key, count] : truth) {
        if (count > rounds / Offenders::most_keys) {
            EXPECT_NE(of(report, key).id, 0U) << key;
        }
    }
    EXPECT_EQ(report.keys[0].id, 1U);
    EXPECT_EQ(report.keys[1].id, 2U);
    EXPECT_EQ(report.keys[2].id, 3U);
}

TEST(Offenders, AddsTheAreasOfProcesses) {
    Memory memory;
    View a(memory, 2);
    View b(memory, 3);
    for (int i = 0; i < 10; ++i) {
        note(a, 7, start + i);
        note(b, 7, start + 91 + i, "key", true);
        note(b, 8);
    }
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(report.total, 30U);
    ASSERT_EQ(report.keys.size(), 2U);
    EXPECT_EQ(report.keys[0].id, 7U);
    EXPECT_EQ(report.keys[0].rejected, 20U);
    EXPECT_EQ(report.keys[0].dry_run, 10U);
    EXPECT_EQ(report.keys[0].last, start + 100);
    EXPECT_EQ(report.keys[1].rejected, 10U);
}

TEST(Offenders, HasTheTextFromWhicheverAreaKeptIt) {
    Memory memory;
    View a(memory, 2);
    View b(memory, 3);
    View c(memory, 4);
    note(a, 7, start, "not kept");
    memory.all.keep_keys(true);
    note(b, 7, start, "alice");
    note(c, 8, start, std::string(Offenders::most_text + 1, 'x'));
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(of(report, 7).rejected, 2U);
    EXPECT_EQ(of(report, 7).limit, 1'000'007U);
    EXPECT_EQ(of(report, 7).key, "alice");
    EXPECT_FALSE(of(report, 7).cut);
    EXPECT_EQ(of(report, 8).key, std::string(Offenders::most_text, 'x'));
    EXPECT_TRUE(of(report, 8).cut);
}

TEST(Offenders, ForgetsAfterTwoGenerations) {
    Memory memory;
    note(memory.all, 1, start);
    note(memory.all, 1, start + Offenders::generation);
    note(memory.all, 2, start + Offenders::generation);
    EXPECT_EQ(of(memory.all.read(start + Offenders::generation), 1).rejected, 2U);
    Offenders::Report report = memory.all.read(start + 2 * Offenders::generation);
    EXPECT_EQ(of(report, 1).rejected, 1U) << "also where nothing came since";
    EXPECT_EQ(report.since, start + Offenders::generation);
    note(memory.all, 3, start + 2 * Offenders::generation);
    report = memory.all.read(start + 2 * Offenders::generation);
    EXPECT_EQ(report.keys.size(), 3U);
    EXPECT_EQ(report.total, 3U);
    report = memory.all.read(start + 20 * Offenders::generation);
    EXPECT_EQ(report.keys.size(), 0U);
    EXPECT_EQ(report.total, 0U);
}

TEST(Offenders, BearsAClockThatIsSetBack) {
    Memory memory;
    note(memory.all, 1, start + 6 * Offenders::generation);
    note(memory.all, 2, start);
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(report.total, 1U);
    EXPECT_EQ(of(report, 2).rejected, 1U);
}

TEST(Offenders, KeepsKeysOnlyWhereTold) {
    Memory memory;
    const std::string long_key(300, 'x');
    const std::string odd("\0\"\xff<\n", 5);
    note(memory.all, 1, start, "secret");
    memory.all.keep_keys(true);
    note(memory.all, 1, start, "secret");
    note(memory.all, 2, start, long_key);
    note(memory.all, 3, start, odd);
    note(memory.all, 4, start, std::string(Offenders::most_text, 'y'));
    Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(of(report, 1).key, "secret") << "also of a key that was there before";
    EXPECT_FALSE(of(report, 1).cut);
    EXPECT_EQ(of(report, 2).key, long_key.substr(0, Offenders::most_text));
    EXPECT_TRUE(of(report, 2).cut);
    EXPECT_EQ(of(report, 3).key, odd);
    EXPECT_EQ(of(report, 4).key.size(), Offenders::most_text);
    EXPECT_FALSE(of(report, 4).cut);

    memory.all.keep_keys(false);
    report = memory.all.read(start);
    EXPECT_EQ(of(report, 1).key, "");
    EXPECT_EQ(of(report, 1).rejected, 2U);
    const std::string bytes(static_cast<const char*>(memory.at()), memory.size());
    EXPECT_EQ(bytes.find("secre"), std::string::npos) << "erased";
    EXPECT_EQ(bytes.find("xxxxx"), std::string::npos);
    note(memory.all, 5, start, "secret");
    note(memory.all, 1, start, "secret");
    const std::string after(static_cast<const char*>(memory.at()), memory.size());
    EXPECT_EQ(after.find("secre"), std::string::npos) << "and not kept again";
}

TEST(Offenders, HandsTheAreaOfADeadProcessOn) {
    Memory memory;
    for (std::uint32_t pid = 1000; pid < 1010; ++pid) {
        View dead(memory, pid);
        note(dead, pid);
        note(dead, 1);
    }
    View heir(memory, 2);
    note(heir, 1);
    const Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(of(report, 1).rejected, 11U);
    EXPECT_EQ(of(report, 1009).rejected, 1U);
    EXPECT_EQ(report.total, 21U);
}

TEST(Offenders, CountsWithoutKeysWhereNoAreaIsFree) {
    Memory memory;
    std::vector<View> others;
    for (std::uint32_t pid = 2; pid < 2 + memory.all.areas(); ++pid) {
        note(others.emplace_back(memory, pid), 1);
    }
    View late(memory, 500);
    note(late, 2);
    note(late, 2);
    Offenders::Report report = memory.all.read(start);
    EXPECT_EQ(report.total, 2 + memory.all.areas());
    EXPECT_EQ(of(report, 2).rejected, 0U);
    EXPECT_EQ(memory.all.read(start + Offenders::generation).total, report.total);
    EXPECT_EQ(memory.all.read(start + 2 * Offenders::generation).total, 0U);
    note(late, 2, start + 2 * Offenders::generation);
    EXPECT_EQ(memory.all.read(start + 2 * Offenders::generation).total, 1U);
}

TEST(Offenders, HasFewerKeysInLessMemory) {
    Memory whole;
    EXPECT_EQ(whole.all.areas(), 2 * workers);
    EXPECT_EQ(whole.all.keys(), Offenders::most_keys);
    Memory half(Offenders::bytes_for(workers / 2) + 64);
    EXPECT_EQ(half.all.areas(), workers) << "first the areas of leaving workers go";
    EXPECT_EQ(half.all.keys(), Offenders::most_keys);
    Memory quarter(Offenders::bytes_for(workers) / 4);
    EXPECT_EQ(quarter.all.areas(), workers);
    EXPECT_GT(quarter.all.keys(), 24U);
    Memory few(4096);
    EXPECT_EQ(few.all.areas(), 1U);
    EXPECT_GE(few.all.keys(), 8U);
    Memory none(512);
    EXPECT_EQ(none.all.areas(), 0U);
    for (Memory* memory : {&whole, &half, &quarter, &few, &none}) {
        for (std::uint64_t id = 1; id <= 1000; ++id) {
            note(memory->all, id % 100 < 50 ? 1 : id);
        }
        EXPECT_EQ(memory->all.read(start).total, 1000U);
        EXPECT_EQ(memory->all.areas() == 0 || of(memory->all.read(start), 1).rejected >= 500, true);
    }
}

TEST(Offenders, FitsItsMemory) {
    TableMemory memory(4096);
    Offenders offenders;
    EXPECT_FALSE(offenders.use(memory.at(), 64, user(1), workers, start)) << "too small";
    EXPECT_FALSE(offenders.use(static_cast<char*>(memory.at()) + 8, 2048, user(1), workers, start))
        << "not aligned";
    EXPECT_TRUE(offenders.use(memory.at(), 2048, user(1), workers, start));
}

/// Ids and what belongs to them fit together in all that a reader believes.
void expect_whole(const Offenders::Report& report) {
    for (const Offenders::Offender& key : report.keys) {
        EXPECT_EQ(key.limit, key.id + 1'000'000);
        EXPECT_GE(key.rejected, key.over);
        EXPECT_EQ(key.key.empty() || key.key == "key " + std::to_string(key.id), true) << key.key;
    }
}

TEST(Offenders, IsReadWhileItChanges) {
    Memory memory;
    memory.all.keep_keys(true);
    std::atomic<bool> stop{false};
    std::atomic<Millis> now{start};
    std::thread writer([&] {
        View self(memory, 2);
        for (std::uint64_t i = 1; !stop; ++i) {
            const std::uint64_t id = 1 + i * 7919 % 300;
            now = start + static_cast<Millis>(i / 1000) * Offenders::generation;
            note(self, id, now, "key " + std::to_string(id));
        }
    });
    for (int seen = 0; seen < 300;) {
        const Offenders::Report report = memory.all.read(now);
        expect_whole(report);
        seen += report.keys.size() > Offenders::most_keys / 2 ? 1 : 0;
    }
    stop = true;
    writer.join();
}

TEST(Offenders, SurvivesAProcessThatIsKilled) {
    Memory memory;
    memory.all.keep_keys(true);
    for (int round = 0; round < 50; ++round) {
        const pid_t child = ::fork();
        if (child == 0) {
            (void)memory.all.use(memory.at(), memory.size(), this_process(), workers, start);
            for (std::uint64_t i = 1;; ++i) {
                const std::uint64_t id = 1 + i * 7919 % 300;
                note(memory.all, id, start, "key " + std::to_string(id));
            }
        }
        while (memory.all.read(start).keys.size() < Offenders::most_keys - 1) {
            ::usleep(100);
        }
        ::usleep(1000 + 37 * static_cast<useconds_t>(round));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        const Offenders::Report report = memory.all.read(start);
        expect_whole(report);
        EXPECT_GE(report.keys.size(), Offenders::most_keys - 1) << "at most one was changing hands";
    }
    Offenders heir;
    ASSERT_TRUE(heir.use(memory.at(), memory.size(), this_process(), workers, start));
    for (std::uint64_t id = 1001; id <= 2000; ++id) {
        note(heir, id, start, "key " + std::to_string(id));
    }
    const Offenders::Report report = memory.all.read(start);
    expect_whole(report);
    EXPECT_EQ(report.keys.size(), Offenders::most_keys) << "the successors used the same area, and all of it";
}

}  // namespace
}  // namespace rate_limit::offenders_test
