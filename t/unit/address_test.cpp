// How addresses are written as text.

#include "core/address.h"

#include <arpa/inet.h>

#include <optional>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace rate_limit::address_test {
namespace {

Ipv6 address_of(const char* text) {
    Ipv6 address{};
    EXPECT_EQ(inet_pton(AF_INET6, text, address.data()), 1) << text;
    return address;
}

std::string text_of(const Ipv6& address, unsigned prefix = ipv6_bits) {
    char text[max_network];
    return {text, append_network(text, address, prefix)};
}

std::string cut_text(const char* text, unsigned prefix) {
    return text_of(cut(address_of(text), prefix), prefix);
}

std::string by_inet_ntop(const Ipv6& address) {
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(AF_INET6, address.data(), text, sizeof text);
}

TEST(Address, WritesIpv4) {
    char text[16];
    const auto written = [&](const Ipv4& address) {
        return std::string(text, append_address(text, address));
    };
    EXPECT_EQ(written({0, 0, 0, 0}), "0.0.0.0");
    EXPECT_EQ(written({192, 0, 2, 7}), "192.0.2.7");
    EXPECT_EQ(written({255, 255, 255, 255}), "255.255.255.255");
}

TEST(Address, WritesIpv4CutToAPrefix) {
    const auto written = [](const Ipv4& address, unsigned prefix) {
        char text[max_network];
        return std::string(text, append_network(text, cut(address, prefix), prefix));
    };
    EXPECT_EQ(written({203, 0, 113, 7}, 32), "203.0.113.7");
    EXPECT_EQ(written({203, 0, 113, 7}, 31), "203.0.113.6/31");
    EXPECT_EQ(written({203, 0, 113, 7}, 24), "203.0.113.0/24");
    EXPECT_EQ(written({203, 0, 113, 7}, 12), "203.0.0.0/12");
    EXPECT_EQ(written({203, 0, 113, 7}, 1), "128.0.0.0/1");
}

TEST(Address, StandsForTheIpv4AddressInIt) {
    const Ipv4 ipv4{192, 0, 2, 33};
    for (const char* text : {"::ffff:192.0.2.33", "64:ff9b::192.0.2.33", "::192.0.2.33"}) {
        EXPECT_EQ(ipv4_in(address_of(text)), ipv4) << text;
    }
    EXPECT_EQ(ipv4_in(address_of("::2")), (Ipv4{0, 0, 0, 2}));
    for (const char* text :
         {"::", "::1", "::fffe:192.0.2.33", "::1:ffff:192.0.2.33", "64:ff9b:1::192.0.2.33",
          "65:ff9b::192.0.2.33", "64:ff9b::1:192.0.2.33", "2001:db8::192.0.2.33", "::ffff:0:192.0.2.33"}) {
        EXPECT_EQ(ipv4_in(address_of(text)), std::nullopt) << text;
    }
}

TEST(Address, WritesIpv6AsRfc5952Says) {
    for (const char* text :
         {"::", "::1", "1::", "2001:db8::1", "2001:db8:0:1:1:1:1:1", "2001:db8::1:0:0:1", "2001:0:0:1::1",
          "::2:0:0:3:0", "1:2:3:4:5:6:7:8", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe80::a:b0:c00:d000",
          "1:2:3:4:5:6::", "0:1:2:3:4:5:6:0", "::ffff:192.0.2.1", "::192.0.2.1", "64:ff9b::c000:221"}) {
        EXPECT_EQ(text_of(address_of(text)), text);
    }
}

TEST(Address, WritesWhatInetNtopWrites) {
    std::mt19937 random(1);  // NOLINT: the same ones each time
    for (int i = 0; i < 100'000; ++i) {
        Ipv6 address{};
        const unsigned zeros = random();  // most groups are 0 or short
        for (std::size_t at = 0; at < address.size(); ++at) {
            const bool zero = (zeros >> at / 2 & 1) != 0 || (zeros >> (16 + at) & 1) != 0;
            address.at(at) = zero ? 0 : static_cast<unsigned char>(random());
        }
        ASSERT_EQ(text_of(address), by_inet_ntop(address));
    }
    for (unsigned first : {0U, 0xffffU}) {
        for (unsigned last : {1U, 0x10000U, 0xffffffffU}) {
            Ipv6 address{};
            address[10] = static_cast<unsigned char>(first >> 8);
            address[11] = static_cast<unsigned char>(first);
            address[13] = static_cast<unsigned char>(last >> 16);
            address[14] = static_cast<unsigned char>(last >> 8);
            address[15] = static_cast<unsigned char>(last);
            ASSERT_EQ(text_of(address), by_inet_ntop(address));
        }
    }
}

TEST(Address, IsCutToItsPrefix) {
    const char* address = "2001:db8:1234:5678:9abc:def0:1234:5678";
    EXPECT_EQ(cut_text(address, 64), "2001:db8:1234:5678::/64");
    EXPECT_EQ(cut_text(address, 60), "2001:db8:1234:5670::/60");
    EXPECT_EQ(cut_text(address, 48), "2001:db8:1234::/48");
    EXPECT_EQ(cut_text(address, 127), "2001:db8:1234:5678:9abc:def0:1234:5678/127");
    EXPECT_EQ(cut_text(address, 128), address);
    EXPECT_EQ(cut_text("ffff::1", 1), "8000::/1");
    EXPECT_EQ(cut_text("::1", 64), "::/64");
}

TEST(Address, FitsItsRoom) {
    EXPECT_LE(std::string("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/127").size(), max_network);
}

}  // namespace
}  // namespace rate_limit::address_test
