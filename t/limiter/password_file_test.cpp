// A password in a file is read again when a server refuses the one that a worker has: once in 5 s. The log
// tells what has come of it, and no password.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

#include "limiter/login.h"
#include "t/limiter/checked.h"

namespace rate_limit::world::password_file_test {
namespace {

/// A file that is gone with the test.
class File {
public:
    explicit File(const std::string& text, const std::string& ending = "")
        : path(testing::TempDir() + "secret-" + std::to_string(::getpid()) + ending) {
        write(text);
    }
    ~File() { remove(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
    void become_pipe() const {
        remove();
        EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    void remove() const { static_cast<void>(std::remove(path.c_str())); }

    const std::string path;
};

constexpr const char* another =
    "a server of \"main\" refused the password; \".*secret-\\d+\" has another one by now";
constexpr const char* refused = "a server of \"main\" refuses the password, .* finds that \".*secret-\\d+\" ";

class PasswordFile : public testing::Test {
protected:
    PasswordFile() {
        world.setup.stores.front().password = "first";
        world.setup.stores.front().password_file = file.path;
        primary.server().state.passwords["default"] = "first";
        EXPECT_EQ(world.ask("k"), "PASSED");
    }

    /// The server knows this password from now on, and ends all connections.
    void demand(const std::string& password) {
        primary.server().state.passwords["default"] = password;
        primary.reset_connections();
    }

    /// The last outcome, where a client asks once a second.
    std::string asked_for(int seconds) {
        std::string outcome;
        for (int second = 0; second < seconds; ++second) {
            world.pass(1'000);
            outcome = world.ask("k");
        }
        return outcome;
    }

    File file{"first\n"};
    Scenario world{{"default", "1000r/h"}};
    Redis primary{world.events, world.network, Scenario::primary_address};
};

TEST_F(PasswordFile, IsReadAgainWhereAServerRefusesWhatItSaidBefore) {
    file.write("second\r\n");
    EXPECT_EQ(asked_for(10), "PASSED");
    EXPECT_EQ(world.logged(another), 0U) << "nobody has refused anything";
    demand("second");
    EXPECT_EQ(asked_for(3), "PASSED");
    EXPECT_EQ(world.logged(another), 1U);
    EXPECT_EQ(world.logged("first\"|second"), 0U);
}

TEST_F(PasswordFile, IsReadOnceIn5Seconds) {
    demand("second");
    EXPECT_EQ(asked_for(2), "ERROR_ALLOWED");
    file.write("second");
    EXPECT_EQ(asked_for(2), "ERROR_ALLOWED") << "read less than 5 s ago";
    EXPECT_EQ(asked_for(10), "PASSED");
    demand("third");
    file.write("third");
    EXPECT_EQ(asked_for(12), "PASSED") << "and as often as it changes";
    EXPECT_EQ(world.logged(another), 2U);
}

TEST_F(PasswordFile, IsToldOnceWhereItCannotBeUsed) {
    demand("second");
    for (const auto& [text, why] : {std::pair{"", "is empty"}, std::pair{"\r\n", "is empty"},
                                    std::pair{"\xef\xbb\xbfsecond\n", "begins with a byte order mark"},
                                    std::pair{"\xff\xfes\0", "begins with a byte order mark"}}) {
        world.forget_lines();
        file.write("first");
        asked_for(6);
        file.write(text);
        EXPECT_EQ(asked_for(20), "ERROR_ALLOWED");
        EXPECT_EQ(world.logged(std::string(refused) + why + ": mend that, or reload"), 1U) << why;
    }
    file.write(std::string(20'000, 'x'));
    EXPECT_EQ(asked_for(20), "ERROR_ALLOWED");
    EXPECT_EQ(world.logged(std::string(refused) + "is longer than 16 KB"), 1U);
    file.remove();
    EXPECT_EQ(asked_for(20), "ERROR_ALLOWED");
    EXPECT_EQ(world.logged(std::string(refused) + "cannot be read \\(No such file or directory\\)"), 1U);
    file.write("second");
    EXPECT_EQ(asked_for(6), "PASSED");
}

TEST_F(PasswordFile, IsNotWaitedForWhereItHasBecomeAPipe) {
    demand("second");
    file.become_pipe();
    EXPECT_EQ(asked_for(20), "ERROR_ALLOWED");
    EXPECT_EQ(world.logged(std::string(refused) + "is no regular file"), 1U);
    file.remove();
    file.write("second");
    EXPECT_EQ(asked_for(6), "PASSED");
}

/// A file and a pipe by turns under one path, as fast as may be. After 10 s it ends the wait of whoever opens
/// the pipe.
class Alternating {
public:
    Alternating(const File& file, const File& pipe, std::string path)
        : names_{file.path, pipe.path}, path_(std::move(path)) {
        put(0);
        thread_ = std::thread([this] { run(); });
    }
    ~Alternating() {
        over_ = true;
        thread_.join();
    }
    Alternating(const Alternating&) = delete;
    Alternating& operator=(const Alternating&) = delete;

    bool has_ended_a_wait() const noexcept { return ended_; }

private:
    void put(std::size_t which) const {
        const std::string link = path_ + ".next";
        EXPECT_EQ(::link(names_.at(which).c_str(), link.c_str()), 0);
        EXPECT_EQ(::rename(link.c_str(), path_.c_str()), 0);
    }

    void run() {
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
        for (std::size_t turn = 1; !over_; ++turn) {
            put(turn % 2);
            if (std::chrono::steady_clock::now() > end) {
                const int writer =
                    ::open(names_[1].c_str(), O_WRONLY | O_NONBLOCK);  // fails where nobody reads
                ended_ = ended_ || writer >= 0;
                ::close(writer);
            }
        }
    }

    std::array<std::string, 2> names_;
    std::string path_;
    std::atomic<bool> over_{false};
    std::atomic<bool> ended_{false};
    std::thread thread_;
};

TEST(SecretFiles, AreNeverWaitedForWhereAPipeTakesTheirPlace) {
    const File file{"secret\n"};
    const File pipe{"", ".pipe"};
    pipe.become_pipe();
    const File path{"", ".path"};
    const Alternating alternating{file, pipe, path.path};
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    SecretFile before = SecretFile::read;
    int changes = 0;
    while (changes < 1'000 && std::chrono::steady_clock::now() < end) {
        std::string secret;
        const SecretFile found = read_secret(path.path.c_str(), secret);
        ASSERT_FALSE(alternating.has_ended_a_wait());
        ASSERT_TRUE(found == SecretFile::read || found == SecretFile::no_file) << explain(found);
        changes += found != before ? 1 : 0;
        before = found;
    }
    EXPECT_GT(changes, 0);
}

TEST(PasswordFileOfSentinels, IsReadAgainWhereASentinelRefusesWhatItSaidBefore) {
    const File file{""};
    Scenario world{{"default", "1000r/h"}};
    StoreSetup& store = world.setup.stores.front();
    store.shards = {{"a", "", {}, "m"}};
    store.sentinels = {"10.0.1.1:26379"};
    store.sentinel_password = "first";
    store.sentinel_password_file = file.path;
    const Scripted sentinel{
        world.events, world.network, store.sentinels.front(),
        [](const Command& words, ScriptedClient&) -> ScriptedReply {
            return words == Command{"auth", "second"} ? "+OK\r\n" : error("WRONGPASS invalid password");
        }};
    world.worker();
    world.pass(10'000);
    EXPECT_EQ(world.logged("a sentinel of \"main\" refuses the password, .* finds that \".*\" is empty"), 1U);
    file.write("second\n");
    world.pass(20'000);
    EXPECT_EQ(world.logged("a sentinel of \"main\" refused the password; \".*\" has another one by now"), 1U);
    EXPECT_EQ(sentinel.commands("auth").back().back(), "second");
    EXPECT_EQ(world.logged("a server of"), 0U);
}

}  // namespace
}  // namespace rate_limit::world::password_file_test
