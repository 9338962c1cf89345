#include "core/table/keyed_queue.h"

#include <gtest/gtest.h>

#include <deque>

namespace rate_limit::keyed_queue_test {
namespace {

struct Item : KeyedQueue<Item>::Link {
    Item(std::uint64_t key, int kind) : key(key), kind(kind) {}
    WindowId id() const noexcept { return {key, key % 1000}; }
    std::uint64_t key;
    int kind;
};

class KeyedQueueTest : public ::testing::Test {
protected:
    void push(std::uint64_t key, int kind = 0) { queue_.push(items_.emplace_back(key, kind)); }
    Item* find(std::uint64_t key, int kind = 0) {
        return queue_.find(Item(key, kind).id(), [kind](const Item& item) { return item.kind == kind; });
    }
    std::uint64_t pop() { return queue_.pop()->key; }

    std::deque<Item> items_;
    KeyedQueue<Item> queue_;
};

TEST_F(KeyedQueueTest, EmptyHasNothing) {
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(queue_.pop(), nullptr);
    EXPECT_EQ(find(1), nullptr);
}

TEST_F(KeyedQueueTest, FindsByIdAndWhatElseIsAsked) {
    push(7, 1);
    push(7, 2);
    push(8, 1);
    EXPECT_EQ(find(7, 2), &items_[1]);
    EXPECT_EQ(find(8, 1), &items_[2]);
    EXPECT_EQ(find(8, 2), nullptr);
    EXPECT_EQ(find(1007, 1), nullptr) << "another id in the same bucket";
}

TEST_F(KeyedQueueTest, ComesOutAsItCameInAndIsNotFoundAgain) {
    constexpr std::uint64_t many = 5000;  // buckets have to grow, and are shared
    for (std::uint64_t round = 0; round < 3; ++round) {
        for (std::uint64_t key = 0; key < many; ++key) {
            push(key);
        }
        ASSERT_EQ(queue_.size(), many);
        for (std::uint64_t key = 0; key < many; ++key) {
            ASSERT_NE(find(key), nullptr);
            ASSERT_EQ(pop(), key);
            ASSERT_EQ(find(key), nullptr);
        }
        EXPECT_TRUE(queue_.empty());
    }
}

TEST_F(KeyedQueueTest, TakesWhatOneIdHasInTheOrderItCame) {
    for (std::uint64_t key = 0; key < 300; ++key) {
        push(key % 100, static_cast<int>(key / 100));  // the buckets grow meanwhile
    }
    for (const std::uint64_t key : {0, 50, 99}) {  // the first, one between, the last
        for (int kind = 0; kind < 3; ++kind) {
            const Item* item = queue_.take(Item(key, 0).id());
            ASSERT_NE(item, nullptr);
            EXPECT_EQ(item->key, key);
            EXPECT_EQ(item->kind, kind);
        }
        EXPECT_EQ(queue_.take(Item(key, 0).id()), nullptr);
        EXPECT_EQ(queue_.take(Item(key + 1000, 0).id()), nullptr) << "another id in the same bucket";
    }
    push(500);
    for (std::uint64_t left = 0; left < 291; ++left) {
        const std::uint64_t key = 1 + left % 97 + (left % 97 >= 49 ? 1 : 0);
        ASSERT_EQ(pop(), key);
    }
    EXPECT_EQ(pop(), 500U);
    EXPECT_TRUE(queue_.empty());
}

TEST_F(KeyedQueueTest, PushAndPopInTurn) {
    for (std::uint64_t key = 0; key < 1000; ++key) {
        push(key);
        push(key + 1000);
        ASSERT_EQ(pop(), key / 2 + (key % 2 != 0 ? 1000 : 0));
    }
    EXPECT_EQ(queue_.size(), 1000U);
}

}  // namespace
}  // namespace rate_limit::keyed_queue_test
