#include "core/counts/hot_keys.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include <gtest/gtest.h>

#include "table_memory.h"

namespace rate_limit::hot_keys_test {
namespace {

void note(HotKeys& keys, std::uint64_t id) {
    keys.raise(keys.find(id), id);
}

using True = std::map<std::uint64_t, std::uint32_t>;  // how often each key was named

/// A sketch, and what is true.
struct Counted {
    HotKeys keys;
    True truth;

    void name(std::uint64_t id) {
        note(keys, id);
        ++truth[id];
    }
};

/// Bounds that the class promises for each key.
void expect_bounds(const HotKeys& keys, const True& truth) {
    std::uint64_t sum = 0;
    std::map<std::uint64_t, HotKeys::Key> found;
    for (const auto& [id, count] : truth) {
        sum += count;
    }
    ASSERT_EQ(keys.noted(), sum);
    for (const HotKeys::Key& key : keys.keys()) {
        if (key.id != 0) {
            EXPECT_TRUE(found.emplace(key.id, key).second) << "a key has one place";
        }
    }
    for (const auto& [id, count] : truth) {
        const auto at = found.find(id);
        if (at == found.end()) {
            EXPECT_LE(count, sum / HotKeys::most) << "a key without a place";
            continue;
        }
        EXPECT_GE(at->second.count, count);
        EXPECT_LE(at->second.certain(), count);
        EXPECT_GE(at->second.certain() + sum / HotKeys::most, count);
        found.erase(at);
    }
    EXPECT_TRUE(found.empty()) << "nothing that was not named";
}

/// Streams that are hard to count: `step` is how many have been, `of` how many there are.
using Stream = std::function<std::uint64_t(std::uint64_t step, std::uint64_t of, Ids& random)>;

const std::vector<Stream>& streams() {
    static const std::vector<Stream> all = {
        [](std::uint64_t step, std::uint64_t, Ids&) { return 1 + step; },  // no key comes twice
        [](std::uint64_t step, std::uint64_t, Ids&) {                      // one place too few for all
            return 1 + step % (HotKeys::most + 1);
        },
        [](std::uint64_t step, std::uint64_t of, Ids&) {  // the hot one only after all others
            return step < of * 3 / 4 ? 2 + step % 1000 : 1;
        },
        [](std::uint64_t step, std::uint64_t of, Ids&) {  // only before them
            return step < of / 4 ? 1 : 2 + step % 1000;
        },
        [](std::uint64_t step, std::uint64_t, Ids&) {  // it is driven out each time that it comes
            return step % 5 == 0 ? 1 : 2 + step;
        },
        [](std::uint64_t step, std::uint64_t, Ids&) {  // those with a place never come again
            return 2 + step / 3;
        },
        [](std::uint64_t, std::uint64_t, Ids& random) {  // some keys a little more often
            return 1 + std::min(random.number() % 100, random.number() % 100);
        },
    };
    return all;
}

TEST(HotKeys, CountsExactlyWhileThereIsRoom) {
    Counted counted;
    for (std::uint64_t id = 1; id <= HotKeys::most; ++id) {
        for (std::uint64_t i = 0; i < id; ++i) {
            counted.name(id);
        }
    }
    for (const HotKeys::Key& key : counted.keys.keys()) {
        EXPECT_EQ(key.certain(), key.id);
        EXPECT_EQ(key.over, 0U);
    }
}

TEST(HotKeys, HoldsItsBoundInEachStream) {
    Ids random(1);
    for (std::size_t stream = 0; stream < streams().size(); ++stream) {
        SCOPED_TRACE(stream);
        Counted counted;
        constexpr std::uint64_t length = 20'000;
        for (std::uint64_t step = 0; step < length; ++step) {
            counted.name(streams()[stream](step, length, random));
            if (step % 1000 == 999) {
                expect_bounds(counted.keys, counted.truth);
            }
        }
    }
}

TEST(HotKeys, HoldsItsBoundWhereSeveralAreJoined) {
    Ids random(2);
    for (int run = 0; run < 50; ++run) {
        SCOPED_TRACE(run);
        HotKeys all;
        True truth;
        const std::uint64_t count = 1 + random.number() % 16;
        for (std::uint64_t i = 0; i < count; ++i) {
            Counted part;
            const Stream& stream = streams()[random.number() % streams().size()];
            const std::uint64_t length = 1 + random.number() % 5000;
            const std::uint64_t others =
                random.number() % 2 * 100'000 * i;  // keys of its own, or common ones
            for (std::uint64_t step = 0; step < length; ++step) {
                const std::uint64_t id = stream(step, length, random);
                part.name(id == 1 ? id : id + others);
            }
            all.join(part.keys);
            for (const auto& [id, named] : part.truth) {
                truth[id] += named;
            }
            expect_bounds(all, truth);
        }
    }
}

/// Each worker but the first has one key alone, of which no other key of the first lets itself be driven out.
TEST(HotKeys, FindsTheKeyThatMostHaveALittleOf) {
    HotKeys all;
    Counted first;
    for (std::uint64_t step = 0; step < 3200; ++step) {
        first.name(2 + step % HotKeys::most);
    }
    all.join(first.keys);
    for (int worker = 0; worker < 40; ++worker) {
        Counted small;
        for (int i = 0; i < 99; ++i) {
            small.name(1);
        }
        all.join(small.keys);
    }
    const auto& keys = all.keys();
    const auto found =
        std::find_if(keys.begin(), keys.end(), [](const HotKeys::Key& key) { return key.id == 1; });
    ASSERT_NE(found, keys.end());
    EXPECT_GT(5 * found->certain(), all.noted()) << "3960 of 7160";
}

TEST(HotKeys, CallsKeysOtherwise) {
    HotKeys keys;
    for (const std::uint64_t id : {11, 21, 12, 30, 11, 12, 12}) {
        note(keys, id);
    }
    const HotKeys called = keys.named([&](std::size_t place) {
        const std::uint64_t id = keys.keys()[place].id / 10;
        return id == 3 ? HotKeys::Key{} : HotKeys::Key{id, id + 100, 0, 0};
    });
    EXPECT_EQ(called.noted(), 7U);
    EXPECT_EQ(called.keys()[0].id, 1U) << "11 and 12 are one";
    EXPECT_EQ(called.keys()[0].limit, 101U);
    EXPECT_EQ(called.keys()[0].certain(), 5U);
    EXPECT_EQ(called.keys()[1].id, 2U);
    EXPECT_EQ(called.keys()[1].certain(), 1U);
    EXPECT_EQ(called.keys()[2].id, 0U) << "30 is called nothing";
}

/// Those of which several are one, too.
TEST(HotKeys, CallsKeysOtherwiseWithTheirErrors) {
    HotKeys keys;
    for (std::uint64_t step = 0; step < 100 * HotKeys::most; ++step) {
        note(keys, 1 + step % (2 * HotKeys::most));
    }
    const HotKeys called = keys.named([](std::size_t) { return HotKeys::Key{5, 6, 0, 0}; });
    EXPECT_EQ(called.keys()[0].count, keys.noted());
    EXPECT_EQ(called.keys()[0].certain(), HotKeys::most) << "each place has changed hands just before";
}

TEST(HotKeys, CountsWhatHasNoKey) {
    HotKeys keys;
    keys.raise_rest();
    note(keys, 7);
    keys.raise_rest();
    EXPECT_EQ(keys.noted(), 3U);
    EXPECT_EQ(keys.keys()[0].id, 7U);
    EXPECT_EQ(keys.keys()[0].certain(), 1U);
    EXPECT_EQ(keys.keys()[1].id, 0U);
}

}  // namespace
}  // namespace rate_limit::hot_keys_test
