#include "redis/keys/window_key.h"

#include <string>

#include <gtest/gtest.h>

namespace rate_limit::digest_test {
namespace {

std::string digest(const KeyDigest& keys, std::string_view key) {
    DigestHex hex;
    EXPECT_TRUE(keys.digest(key, hex));
    return {hex.data(), hex.size()};
}

constexpr std::string_view sha256_of_abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

TEST(KeyDigest, Sha256) {
    const KeyDigest keys(KeyDigest::Kind::sha256);
    EXPECT_EQ(digest(keys, "abc"), sha256_of_abc);
    EXPECT_EQ(digest(keys, {}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(KeyDigest, HmacIsKeyedWithTheSecret) {
    // RFC 4231, test cases 2 and 6.
    const KeyDigest jefe(KeyDigest::Kind::hmac, "Jefe");
    EXPECT_EQ(digest(jefe, "what do ya want for nothing?"),
              "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const KeyDigest long_secret(KeyDigest::Kind::hmac, std::string(131, '\xaa'));
    EXPECT_EQ(digest(long_secret, "Test Using Larger Than Block-Size Key - Hash Key First"),
              "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(KeyDigest, OwnsItsSecret) {
    std::string secret = "Jefe";
    const KeyDigest keys(KeyDigest::Kind::hmac, secret);
    const std::string before = digest(keys, "key");
    secret.assign("xxxx");
    EXPECT_EQ(digest(keys, "key"), before);
}

TEST(KeyDigest, OffStillDigestsLongKeys) {
    const KeyDigest off;
    EXPECT_FALSE(off.applies(0));
    EXPECT_FALSE(off.applies(128));
    EXPECT_TRUE(off.applies(129));
    EXPECT_EQ(digest(off, "abc"), sha256_of_abc);

    EXPECT_TRUE(KeyDigest(KeyDigest::Kind::sha256).applies(1));
    EXPECT_TRUE(KeyDigest(KeyDigest::Kind::hmac, "s").applies(1));
}

}  // namespace
}  // namespace rate_limit::digest_test
