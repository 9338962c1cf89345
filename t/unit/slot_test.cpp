#include "redis/keys/routes.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace rate_limit::slot_test {
namespace {

/// All values here are what CLUSTER KEYSLOT of a redis-server says.
TEST(Slot, IsThatOfTheKey) {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) {
        all.push_back(static_cast<char>(byte));
    }
    const std::pair<std::string, int> slots[] = {
        {"", 0},
        {"x", 16287},
        {"foo", 12182},
        {"bar", 5061},
        {"123456789", 12739},
        {"rl:core/3600:alice", 12443},
        {std::string("\0\xff\r\n", 4), 6261},
        {std::string("b\0", 2), 11592},
        {std::string(16384, 'x'), 12045},
        {all, 16155},
    };
    for (const auto& [key, slot] : slots) {
        EXPECT_EQ(key_slot(key), slot) << key.substr(0, 20);
    }
}

TEST(Slot, IsThatOfTheFirstTag) {
    const std::pair<std::string, int> slots[] = {
        {"rl:a/1:{x}y", 16287},
        {"{x}{y}", 16287},
        {"a{b}c", 3300},
        {"foo{bar}{zap}", 5061},
        {"foo{{bar}}zap", 4015},
        {"{bar", 4015},
        {"{{x}}", 11068},
        {"{x", 11068},
        {"x}", 11978},
        {"x}{y", 9970},
        {"{}x", 10595},
        {"a{}{x}", 5633},
        {"{}{x}", 3257},
        {"foo{}{bar}", 8363},
        {"{", 4092},
        {"}", 12090},
        {"{}", 15257},
        {std::string("a\0{b\0}c", 7), 11592},
        {"{y}" + std::string(16384, 'x'), 12222},
    };
    for (const auto& [key, slot] : slots) {
        EXPECT_EQ(key_slot(key), slot) << key.substr(0, 20);
    }
}

/// One number stands for the slots of key:0 to key:1999.
TEST(Slot, OfManyKeys) {
    unsigned sum = 0;
    for (int i = 0; i < 2000; ++i) {
        sum = (sum * 31 + key_slot("key:" + std::to_string(i))) % 1000003;
    }
    EXPECT_EQ(sum, 904189U);
}

}  // namespace
}  // namespace rate_limit::slot_test
