#include "redis/topology/redirect.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace rate_limit::redirect_test {
namespace {

const Endpoint asked{"10.0.0.9", 7000};

TEST(Redirect, SaysWhere) {
    struct Case {
        std::string error;
        Redirect::Kind kind;
        std::uint16_t slot;
        std::string to;
    };
    const std::string longest(255, 'h');
    const Case cases[] = {
        {"MOVED 8898 127.0.0.1:21001", Redirect::Kind::moved, 8898, "127.0.0.1:21001"},
        {"ASK 8898 127.0.0.1:21000", Redirect::Kind::ask, 8898, "127.0.0.1:21000"},
        {"MOVED 0 redis-1.test:1", Redirect::Kind::moved, 0, "redis-1.test:1"},
        {"MOVED 16383 redis_1:65535", Redirect::Kind::moved, 16383, "redis_1:65535"},
        {"MOVED 1 ::1:6379", Redirect::Kind::moved, 1, "[::1]:6379"},
        {"ASK 1 2001:db8::ffff:192.0.2.1:6379", Redirect::Kind::ask, 1, "[2001:db8::ffff:192.0.2.1]:6379"},
        {"MOVED 1 fe80::1%eth0:6379", Redirect::Kind::moved, 1, "[fe80::1%eth0]:6379"},
        {"MOVED 8898 :21000", Redirect::Kind::moved, 8898, "10.0.0.9:21000"},
        {"MOVED 8898 " + longest + ":1", Redirect::Kind::moved, 8898, longest + ":1"},
    };
    for (const Case& one : cases) {
        Redirect redirect;
        ASSERT_TRUE(read_redirect(one.error, asked, redirect)) << one.error;
        EXPECT_EQ(redirect.kind, one.kind) << one.error;
        EXPECT_EQ(redirect.slot, one.slot) << one.error;
        EXPECT_EQ(redirect.to.text(), one.to) << one.error;
    }
}

TEST(Redirect, IsRefusedWhereItSaysNothingThatCanBeFollowed) {
    const std::string too_long(256, 'h');
    for (const std::string& error : {std::string(),
                                     std::string("MOVED"),
                                     std::string("MOVED "),
                                     std::string("MOVED x"),
                                     std::string("MOVED 1"),
                                     std::string("MOVED 1 "),
                                     std::string("MOVED 1 127.0.0.1"),
                                     std::string("MOVED 1 127.0.0.1:"),
                                     std::string("MOVED 1 127.0.0.1:0"),
                                     std::string("MOVED 1 127.0.0.1:65536"),
                                     std::string("MOVED 1 127.0.0.1:-1"),
                                     std::string("MOVED 1 127.0.0.1:x"),
                                     std::string("MOVED 1 127.0.0.1:99999999999999999999"),
                                     std::string("MOVED 1 127.0.0.1:6379 "),
                                     std::string("MOVED 1 127.0.0.1:6379\n"),
                                     std::string("MOVED 1  127.0.0.1:6379"),
                                     std::string("MOVED 16384 127.0.0.1:6379"),
                                     std::string("MOVED 99999 127.0.0.1:6379"),
                                     std::string("MOVED -1 127.0.0.1:6379"),
                                     std::string("MOVED  127.0.0.1:6379"),
                                     std::string("MOVED a b:1:2"),
                                     std::string("MOVED 1 ?:21000"),
                                     std::string("MOVED 1 a?:21000"),
                                     std::string("MOVED 1 [::1]:6379"),
                                     std::string("MOVED 1 a:b:6379"),
                                     std::string("MOVED 1 g::1:6379"),
                                     std::string("MOVED 1 a b:6379"),
                                     std::string("MOVED 1 \xff:6379"),
                                     std::string("MOVED 1 a\0b:6379", 16),
                                     "MOVED 1 " + too_long + ":1",
                                     std::string("moved 1 a:6379"),
                                     std::string("MOVED1 a:6379"),
                                     std::string("ASKING 1 a:6379"),
                                     std::string("ERR MOVED 1 a:6379"),
                                     std::string("CLUSTERDOWN Hash slot not served")}) {
        Redirect redirect;
        EXPECT_FALSE(read_redirect(error, asked, redirect)) << error;
    }
    Redirect redirect;
    EXPECT_FALSE(read_redirect("MOVED 1 :6379", Endpoint{}, redirect)) << "no host is known at all";
}

}  // namespace
}  // namespace rate_limit::redirect_test
