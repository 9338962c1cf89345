#include "redis/keys/shard_choice.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::shard_choice_test {
namespace {

struct Vector {
    std::size_t length;
    std::uint64_t seed;
    std::uint64_t hash;
};

// Hashes of the bytes 7i + 3 modulo 256, computed by xxHash 0.8.1.
constexpr Vector vectors[] = {
    {0, 0x0000000000000000, 0xEF46DB3751D8E999},   {1, 0x0000000000000000, 0x1F25C8D0BC1F4BB6},
    {3, 0x0000000000000000, 0x31D2363F52E564C9},   {4, 0x0000000000000000, 0x9BB64B7D66EE9FDA},
    {7, 0x0000000000000000, 0x9A7B149959CE60D8},   {8, 0x0000000000000000, 0xDAB99D95C6F90092},
    {15, 0x0000000000000000, 0x1B47CB8243CC8E32},  {31, 0x0000000000000000, 0xA2AA5F33CC4A6119},
    {32, 0x0000000000000000, 0x23C3C17EF790FD97},  {33, 0x0000000000000000, 0x50A7CFC7BA588784},
    {63, 0x0000000000000000, 0x5E3E54B431C7493C},  {64, 0x0000000000000000, 0x0EB64B3EF6EEB01F},
    {100, 0x0000000000000000, 0xA61F8D4C170FE531}, {1000, 0x0000000000000000, 0x5F235FA033F1A3FB},
    {0, 0x9E3779B97F4A7C15, 0xC4349FC93C010000},   {1, 0x9E3779B97F4A7C15, 0x79826BCD749D267A},
    {3, 0x9E3779B97F4A7C15, 0x78EFD77575E26575},   {4, 0x9E3779B97F4A7C15, 0x6F0A6C97D68BF353},
    {7, 0x9E3779B97F4A7C15, 0xD97EDE93C9D66A0D},   {8, 0x9E3779B97F4A7C15, 0xA2F1E28437A78A1B},
    {15, 0x9E3779B97F4A7C15, 0xE2EC50A544FAEC61},  {31, 0x9E3779B97F4A7C15, 0x755437271D1D0A84},
    {32, 0x9E3779B97F4A7C15, 0xBF624B932C090428},  {33, 0x9E3779B97F4A7C15, 0x7ACEAF1E9D34EA35},
    {63, 0x9E3779B97F4A7C15, 0x2C8DDCE5C85D0D9D},  {64, 0x9E3779B97F4A7C15, 0x4AF341F14E3A6FC9},
    {100, 0x9E3779B97F4A7C15, 0xF6D8F65C625ABB4F}, {1000, 0x9E3779B97F4A7C15, 0x442ACD0A822E86F6},
};

TEST(Xxh64, AgreesWithTheReference) {
    EXPECT_EQ(xxh64("", 0), 0xEF46DB3751D8E999);
    EXPECT_EQ(xxh64("a", 0), 0xD24EC4F1A98C6E5B);
    EXPECT_EQ(xxh64("abc", 0), 0x44BC2CF5AD770999);

    std::string bytes;
    for (int i = 0; i < 1000; ++i) {
        bytes += static_cast<char>((7 * i + 3) % 256);
    }
    for (const Vector& vector : vectors) {
        EXPECT_EQ(xxh64(std::string_view(bytes).substr(0, vector.length), vector.seed), vector.hash)
            << vector.length << " bytes, seed " << vector.seed;
    }
}

constexpr int key_count = 100'000;

struct Weighted {
    std::string name;
    std::uint32_t weight;
};

ShardChoice choice_of(const std::vector<Weighted>& shards) {
    ShardChoice choice;
    for (const Weighted& shard : shards) {
        choice.add(shard.name, shard.weight);
    }
    return choice;
}

std::vector<Weighted> numbered(std::size_t count, bool weighted) {
    constexpr std::uint32_t cycle[] = {1, 2, 4};
    std::vector<Weighted> shards;
    for (std::size_t i = 0; i < count; ++i) {
        shards.push_back({"shard-" + std::to_string(i), weighted ? cycle[i % 3] : 1});
    }
    return shards;
}

/// How many keys a shard of this weight should get among these shards.
double share_of(std::uint32_t weight, const std::vector<Weighted>& shards) {
    double total = 0;
    for (const Weighted& shard : shards) {
        total += shard.weight;
    }
    return key_count * weight / total;
}

std::string key_of(int number) {
    return "user:" + std::to_string(number);
}

struct Published {
    std::string key;
    const char* equal;     // shards a, b, c of weights 1, 1, 1
    const char* weighted;  // shards a, b, c of weights 1, 2, 4
};

// Computed by a second implementation. They never change, as other programs may rely on them.
const Published published[] = {
    {"", "a", "c"},
    {"a", "c", "c"},
    {"alice", "a", "c"},
    {"bob", "a", "c"},
    {"user:42", "b", "b"},
    {"192.0.2.1", "c", "c"},
    {"203.0.113.77", "c", "c"},
    {"2001:db8::/64", "c", "c"},
    {std::string(1, '\0'), "c", "c"},
    {std::string("\x7f\0\0\x01", 4), "b", "b"},
    {std::string(128, 'k'), "a", "a"},
    {"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "b", "c"},
};

TEST(ShardChoice, AgreesWithThePublishedVectors) {
    const std::vector<Weighted> equal = {{"a", 1}, {"b", 1}, {"c", 1}};
    const std::vector<Weighted> weighted = {{"a", 1}, {"b", 2}, {"c", 4}};
    const ShardChoice equal_choice = choice_of(equal);
    const ShardChoice weighted_choice = choice_of(weighted);
    for (const Published& vector : published) {
        EXPECT_EQ(equal[equal_choice.choose(vector.key)].name, vector.equal) << vector.key;
        EXPECT_EQ(weighted[weighted_choice.choose(vector.key)].name, vector.weighted) << vector.key;
    }
}

void expect_balance(const std::vector<Weighted>& shards) {
    const ShardChoice choice = choice_of(shards);
    ASSERT_EQ(choice.size(), shards.size());
    std::vector<int> keys(shards.size());
    for (int i = 0; i < key_count; ++i) {
        ++keys[choice.choose(key_of(i))];
    }
    for (std::size_t i = 0; i < shards.size(); ++i) {
        const double share = share_of(shards[i].weight, shards);
        EXPECT_NEAR(keys[i], share, share * 0.05) << shards[i].name << " of " << shards.size();
    }
}

TEST(ShardChoice, SharesKeysByWeight) {
    for (std::size_t count = 1; count <= 8; ++count) {
        expect_balance(numbered(count, false));
        expect_balance(numbered(count, true));
    }
}

void expect_few_moves(const std::vector<Weighted>& shards) {
    const ShardChoice after = choice_of(shards);
    const ShardChoice before = choice_of({shards.begin(), shards.end() - 1});
    int moved = 0;
    for (int i = 0; i < key_count; ++i) {
        const std::string key = key_of(i);
        const std::size_t now = after.choose(key);
        if (now != before.choose(key)) {
            ++moved;
            EXPECT_EQ(now, shards.size() - 1) << key;
        }
    }
    const double share = share_of(shards.back().weight, shards);
    EXPECT_NEAR(moved, share, share * 0.05);
}

TEST(ShardChoice, ANewShardTakesOnlyItsOwnKeys) {
    for (std::size_t count = 2; count <= 8; ++count) {
        expect_few_moves(numbered(count, false));
        expect_few_moves(numbered(count, true));
    }
}

TEST(ShardChoice, EqualWeightsAgreeWithAnyOtherEqualWeights) {
    std::vector<Weighted> shards = numbered(5, false);
    const ShardChoice one = choice_of(shards);
    for (Weighted& shard : shards) {
        shard.weight = 1'000'000;
    }
    const ShardChoice million = choice_of(shards);
    for (int i = 0; i < 1000; ++i) {
        EXPECT_EQ(one.choose(key_of(i)), million.choose(key_of(i)));
    }
}

TEST(ShardChoice, DoesNotDependOnTheOrderOfTheLines) {
    for (bool weighted : {false, true}) {
        const std::vector<Weighted> shards = numbered(6, weighted);
        const std::vector<Weighted> reversed(shards.rbegin(), shards.rend());
        const ShardChoice forward = choice_of(shards);
        const ShardChoice backward = choice_of(reversed);
        for (int i = 0; i < 10'000; ++i) {
            const std::string key = key_of(i);
            EXPECT_EQ(shards[forward.choose(key)].name, reversed[backward.choose(key)].name) << key;
        }
    }
}

TEST(ShardChoice, TakesAnyBytesAsKey) {
    const std::vector<Weighted> shards = numbered(4, true);
    const ShardChoice choice = choice_of(shards);
    std::vector<bool> chosen(shards.size());
    for (int i = 0; i < 256; ++i) {
        chosen[choice.choose(std::string(128, static_cast<char>(i)))] = true;
    }
    EXPECT_LT(choice.choose({}), shards.size());
    EXPECT_EQ(std::count(chosen.begin(), chosen.end(), true), 4);
}

}  // namespace
}  // namespace rate_limit::shard_choice_test
