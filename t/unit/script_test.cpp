#include "redis/script.h"

#include <openssl/sha.h>

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit {
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
    for (const Script* script : {&charge_script(), &repair_script(), &reserve_script(), &refund_script()}) {
        EXPECT_EQ(script->text.substr(0, 3), "-- ");
        EXPECT_EQ(script->text.back(), '\n');
        EXPECT_NE(script->text.find("\nreturn {"), std::string_view::npos);
    }
    EXPECT_NE(charge_script().text.find("HINCRBY"), std::string_view::npos);
    EXPECT_NE(repair_script().text.find("PTTL"), std::string_view::npos);
}

TEST(Script, IsCalledByTheSha1OfItsText) {
    EXPECT_EQ(sha1("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
    EXPECT_EQ(charge_script().digest(), sha1(charge_script().text));
    EXPECT_EQ(repair_script().digest(), sha1(repair_script().text));
    EXPECT_EQ(reserve_script().digest(), sha1(reserve_script().text));
    EXPECT_EQ(refund_script().digest(), sha1(refund_script().text));
    EXPECT_EQ(&charge_script(), &charge_script());
}

}  // namespace
}  // namespace rate_limit
