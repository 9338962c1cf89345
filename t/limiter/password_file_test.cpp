// A password in a file is read again when a server refuses the one that a worker has: once in 5 s. The log
// tells what has come of it, and no password.

#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "t/limiter/checked.h"

namespace rate_limit::world::password_file_test {
namespace {

/// A file that is gone with the test.
class File {
public:
    explicit File(const std::string& text) { write(text); }
    ~File() { remove(); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;
    void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
    void remove() const { static_cast<void>(std::remove(path.c_str())); }

    const std::string path = testing::TempDir() + "secret-" + std::to_string(::getpid());
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

}  // namespace
}  // namespace rate_limit::world::password_file_test
