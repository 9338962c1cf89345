#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/machine/records.h"
#include "core/table/process.h"

namespace rate_limit {

constexpr Millis table_now = 1'700'000'000'000;
constexpr HashKey table_key{0x1234567890abcdef, 0xfedcba0987654321};

/// Memory that forked processes share, unmapped when this object ends.
class TableMemory {
public:
    explicit TableMemory(std::size_t size) : size_(size) {
        at_ = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at_ == MAP_FAILED) {
            at_ = nullptr;
            ADD_FAILURE() << "no memory";
        }
    }
    TableMemory(const TableMemory& other) : TableMemory(other.size_) { std::memcpy(at_, other.at_, size_); }
    TableMemory& operator=(const TableMemory&) = delete;
    ~TableMemory() { ::munmap(at_, size_); }

    void* at() const { return at_; }
    std::size_t size() const { return size_; }

    bool operator==(const TableMemory& other) const {
        return size_ == other.size_ && std::memcmp(at_, other.at_, size_) == 0;
    }

private:
    void* at_ = nullptr;
    std::size_t size_;
};

inline bool nobody_is_alive(const Process& /*process*/) {
    return false;
}
inline bool all_are_alive(const Process& /*process*/) {
    return true;
}

inline LockUser this_process() {
    return {process_of(static_cast<std::uint32_t>(::getpid())), is_alive};
}

/// Calls run() in a child, which then exits; the child's number.
template <typename Run>
pid_t in_child(Run run) {
    const pid_t child = ::fork();
    if (child < 0) {
        throw std::runtime_error("no child");  // a signal to -1 would reach every process
    }
    if (child == 0) {
        run();
        ::_exit(0);
    }
    return child;
}

/// A table in memory of its own, as process 1 sees it.
template <typename Record>
struct TestTableOf {
    explicit TestTableOf(std::size_t records, const HashKey& key = table_key)
        : memory(RecordTable<Record>::bytes_for(records)), table(LockUser{{1, 1}, all_are_alive}) {
        EXPECT_TRUE(table.create(memory.at(), memory.size(), key));
    }
    TableMemory memory;
    RecordTable<Record> table;
};
using TestTable = TestTableOf<Record>;

/// The table as another process sees it.
inline WindowTable view_of(const TableMemory& memory, const LockUser& user) {
    WindowTable table(user);
    EXPECT_TRUE(table.attach(memory.at(), memory.size()));
    return table;
}
inline WindowTable view_of(const TableMemory& memory, std::uint32_t pid, IsAlive is_alive = all_are_alive) {
    return view_of(memory, {{pid, 1}, is_alive});
}

/// Random ids (SplitMix64): a seed always gives the same ones.
class Ids {
public:
    explicit Ids(std::uint64_t seed) : state_(seed) {}

    std::uint64_t number() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    WindowId next() {
        const std::uint64_t high = number();
        return {high, number()};
    }

private:
    std::uint64_t state_;
};

/// Charges 1 to this id's window, which it opens if there is none; false if there is no room.
inline bool count_one(WindowTable& table, const WindowId& id, std::int64_t limit = 1000,
                      Truth truth = Truth::local, Millis reset = table_now + 60'000) {
    return table.update(id, table_now, [&](WindowRecord& record) {
        record.reset = reset;
        record.limit = limit;
        record.truth = truth;
        ++record.used;
    });
}

/// All records of a table, ordered by id.
inline std::vector<WindowRecord> contents_of(WindowTable& table) {
    std::vector<WindowRecord> all;
    table.for_each([&](const Record& record) { all.push_back(record.as<WindowRecord>()); });
    std::sort(all.begin(), all.end(), [](const WindowRecord& a, const WindowRecord& b) {
        return std::make_pair(a.id.high, a.id.low) < std::make_pair(b.id.high, b.id.low);
    });
    return all;
}

}  // namespace rate_limit
