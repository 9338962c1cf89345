#include "core/limit/status_set.h"

#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace rate_limit::status_set_test {
namespace {

using Words = std::vector<std::string>;

StatusSet set_of(const Words& words) {
    StatusSet set;
    for (const std::string& word : words) {
        EXPECT_TRUE(set.add(word)) << word;
    }
    return set;
}

/// Returns whether the word, without its `!`, names the status.
bool names(const std::string& word, std::size_t status) {
    const std::string text = std::to_string(status);
    return word == text || (text.size() == 3 && word == text.substr(0, 1) + "xx");
}

/// Returns whether the words name the status, as the documents say it, word by word.
bool has(const Words& words, std::size_t status) {
    bool only_exceptions = !words.empty();
    bool named = false;
    for (const std::string& word : words) {
        if (word[0] == '!') {
            if (names(word.substr(1), status)) {
                return false;
            }
        } else {
            only_exceptions = false;
            named = named || names(word, status);
        }
    }
    return named || only_exceptions;
}

std::vector<std::size_t> all_statuses() {
    std::vector<std::size_t> all{0, 1, 99, 600, 601, 999, 1'000, 65'535};
    for (std::size_t status = 100; status < 600; ++status) {
        all.push_back(status);
    }
    return all;
}

void expect_as_said(const Words& words) {
    const StatusSet set = set_of(words);
    for (const std::size_t status : all_statuses()) {
        EXPECT_EQ(set.has(status), has(words, status)) << status << " in " << testing::PrintToString(words);
    }
}

TEST(StatusSet, HasWhatIsNamedWithoutTheExceptions) {
    for (const Words& words : {Words{},
                               {"304"},
                               {"4xx", "5xx", "!499"},
                               {"!499", "4xx"},
                               {"!401", "!403"},
                               {"404", "!4xx"},
                               {"!4xx"},
                               {"1xx", "599"},
                               {"404", "!404"}}) {
        expect_as_said(words);
    }
}

TEST(StatusSet, HasWhatRandomListsSay) {
    std::mt19937 random{1};
    for (int i = 0; i < 500; ++i) {
        Words words(random() % 5);
        for (std::string& word : words) {
            const std::size_t status = 100 + random() % 500;
            word = random() % 3 != 0 ? std::to_string(status) : std::to_string(status / 100) + "xx";
            word = (random() % 2 != 0 ? "!" : "") + word;
        }
        expect_as_said(words);
    }
}

TEST(StatusSet, TakesNoOtherWords) {
    for (const char* word :
         {"",     "!",     "99",    "099",  "600",  "1000", "0xx", "6xx", "4XX", "xx",  "4x",
          "4xxx", "!!401", "! 401", "401!", "-401", "+40",  " 40", "4 0", "off", "!off"}) {
        StatusSet set;
        EXPECT_FALSE(set.add(word)) << word;
        EXPECT_FALSE(set.has(401)) << word;
    }
}

}  // namespace
}  // namespace rate_limit::status_set_test
