#include "redis/script.h"

#include <openssl/sha.h>

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit::script_test {
namespace {

std::string sha1(std::string_view text) {
    std::array<unsigned char, SHA_DIGEST_LENGTH> raw{};
    SHA1(reinterpret_cast<const unsigned char*>(text.data()), text.size(), raw.data());
    std::string hex;
    for (unsigned char byte : raw) {
        char digits[3];
        std::snprintf(digits, sizeof(digits), "%02x", byte);
        hex += digits;
    }
    return hex;
}

TEST(Script, IsEmbeddedWhole) {
    for (const Script& script : all_scripts()) {
        EXPECT_EQ(script.text.substr(0, 3), "-- ");
        EXPECT_EQ(script.text.back(), '\n');
        EXPECT_NE(script.text.find("\nreturn "), std::string_view::npos);
    }
    EXPECT_NE(script(ScriptName::charge).text.find("HINCRBY"), std::string_view::npos);
    EXPECT_NE(script(ScriptName::repair).text.find("PTTL"), std::string_view::npos);
}

TEST(Script, IsFoundByItsName) {
    EXPECT_STREQ(script(ScriptName::charge).file, "charge.lua");
    EXPECT_STREQ(script(ScriptName::repair).file, "repair.lua");
    EXPECT_STREQ(script(ScriptName::reserve).file, "reserve.lua");
    EXPECT_STREQ(script(ScriptName::refund).file, "refund.lua");
}

TEST(Script, IsCalledByTheSha1OfItsText) {
    EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    for (const Script& script : all_scripts()) {
        EXPECT_EQ(script.digest(), sha1(script.text));
    }
    EXPECT_EQ(&all_scripts(), &all_scripts()) << "computed once";
}

}  // namespace
}  // namespace rate_limit::script_test
