#include "core/topology/shared_topology.h"

#include <csignal>
#include <string>

#include <sys/wait.h>
#include <time.h>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::shared_topology_test {
namespace {

using Publication = SharedTopology::Publication;

constexpr std::size_t memory_size = std::size_t{256} * 1024;

/// The processes of one configuration.
struct Configuration {
    explicit Configuration(const TableMemory& memory, bool first = false) {
        EXPECT_TRUE(first ? shared.create(memory.at(), memory.size())
                          : shared.attach(memory.at(), memory.size()));
    }

    SharedTopology process(std::uint32_t pid, IsAlive is_alive = all_are_alive) const {
        SharedTopology copy = shared;
        copy.set_user({{pid, 1}, is_alive});
        return copy;
    }

    SharedTopology shared;
};

std::string text_of(const SharedTopology& topology) {
    std::string bytes;
    std::uint64_t generation = 0;
    return topology.read(bytes, generation) ? bytes : "nothing";
}

TEST(SharedTopology, AllProcessesReadWhatOneHasPublished) {
    const TableMemory memory(memory_size);
    const Configuration running(memory, true);
    SharedTopology one = running.process(1);
    const SharedTopology other = running.process(2);
    EXPECT_EQ(other.generation(), 0U);
    EXPECT_EQ(text_of(other), "nothing");
    ASSERT_TRUE(one.take_turn(0, 100));
    EXPECT_EQ(one.publish("first"), Publication::done);
    EXPECT_EQ(text_of(other), "first");
    const std::uint64_t generation = other.generation();
    EXPECT_EQ(one.publish(""), Publication::done);
    EXPECT_NE(other.generation(), generation);
    EXPECT_EQ(text_of(other), "");
    EXPECT_EQ(one.publish(std::string(memory_size, 'x')), Publication::no_room);
    EXPECT_EQ(text_of(Configuration(memory).process(3)), "");
}

TEST(SharedTopology, OneProcessAtATimeAsks) {
    const TableMemory memory(memory_size);
    const Configuration running(memory, true);
    SharedTopology one = running.process(1);
    SharedTopology other = running.process(2);
    const std::uint32_t now = 0xffffffc0;  // the clock goes over its end
    EXPECT_TRUE(one.take_turn(now, 100));
    EXPECT_FALSE(other.take_turn(now + 99, 100));
    EXPECT_TRUE(one.take_turn(now + 99, 100));
    EXPECT_FALSE(other.take_turn(now + 198, 100));
    EXPECT_TRUE(other.take_turn(now + 199, 100)) << "the turn has run out";
    one.leave_turn();
    EXPECT_FALSE(one.take_turn(now + 200, 100)) << "it was not its own any more";
    other.leave_turn();
    EXPECT_TRUE(one.take_turn(now + 200, 100));
    EXPECT_TRUE(running.process(3, nobody_is_alive).take_turn(now + 201, 100));
}

TEST(SharedTopology, OnlyWhoAskedLastPublishes) {
    const TableMemory memory(memory_size);
    const Configuration running(memory, true);
    SharedTopology slept = running.process(1);
    SharedTopology other = running.process(2);
    EXPECT_EQ(slept.publish("early"), Publication::no_turn);
    ASSERT_TRUE(slept.take_turn(0, 100));
    EXPECT_EQ(slept.publish("its turn has run out, and nobody else asks"), Publication::done);
    ASSERT_TRUE(other.take_turn(100, 100));
    ASSERT_EQ(other.publish("new"), Publication::done);
    EXPECT_EQ(slept.publish("old"), Publication::no_turn);
    EXPECT_EQ(text_of(slept), "new");
}

TEST(SharedTopology, ANewerConfigurationAsksAtOnce) {
    const TableMemory memory(memory_size);
    const Configuration before(memory, true);
    SharedTopology leaving = before.process(1);
    ASSERT_TRUE(leaving.take_turn(0, 100));
    const Configuration after(memory);
    SharedTopology started = after.process(2);
    EXPECT_TRUE(leaving.take_turn(1, 100)) << "it goes on until then";
    EXPECT_TRUE(started.take_turn(2, 100));
    EXPECT_FALSE(leaving.take_turn(3, 100));
    EXPECT_EQ(leaving.publish("of another configuration"), Publication::no_turn);
    EXPECT_TRUE(leaving.take_turn(102, 100)) << "nobody else asks";
    EXPECT_TRUE(started.take_turn(103, 100));

    // Without a master process both are one process.
    SharedTopology same = before.process(2);
    EXPECT_FALSE(same.take_turn(104, 100));
    same.leave_turn();
    EXPECT_FALSE(leaving.take_turn(105, 100)) << "the turn of the newer one was left alone";
}

TEST(SharedTopology, MemoryOfOthersIsRefused) {
    const TableMemory memory(memory_size);
    SharedTopology topology;
    EXPECT_FALSE(topology.create(memory.at(), 64));
    EXPECT_FALSE(topology.attach(memory.at(), memory.size()));
}

/// Publishes one text after the other, for ever.
[[noreturn]] void publish_always(SharedTopology& topology) {
    const std::string texts[] = {std::string(memory_size / 2, 'a'), std::string(memory_size / 4, 'b')};
    for (;;) {
        topology.take_turn(0, 100);
        topology.publish(texts[0]);
        topology.publish(texts[1]);
    }
}

TEST(SharedTopology, AProcessThatIsKilledWhileItPublishesLeavesAllOrNothing) {
    const TableMemory memory(memory_size);
    Configuration running(memory, true);
    running.shared.set_user(this_process());
    int unreadable = 0;
    for (int round = 0; round < 100; ++round) {
        const std::uint64_t generation = running.shared.generation();
        const pid_t child = in_child([&] {
            running.shared.set_user(this_process());
            publish_always(running.shared);
        });
        while (running.shared.generation() == generation) {
        }
        const timespec some{0, round * 1000};
        ::nanosleep(&some, nullptr);
        ASSERT_EQ(::kill(child, SIGKILL), 0);
        ASSERT_EQ(::waitpid(child, nullptr, 0), child);
        const std::string text = text_of(running.shared);
        unreadable += text == "nothing" ? 1 : 0;
        EXPECT_TRUE(text == "nothing" || text == std::string(text.size(), text[0])) << "a mixture";
        ASSERT_TRUE(running.shared.take_turn(0, 100));
        EXPECT_EQ(running.shared.publish("mended"), Publication::done);
        EXPECT_EQ(text_of(running.shared), "mended");
        running.shared.leave_turn();
    }
    EXPECT_GT(unreadable, 0) << "none was killed while it wrote";
}

}  // namespace
}  // namespace rate_limit::shared_topology_test
