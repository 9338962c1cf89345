#include "core/limit/cost_sum.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/limit/rate.h"

namespace rate_limit::cost_sum_test {
namespace {

/// "7" stands for itself and "$1" to "$9" for what the variables are. The cost, `empty` or `senseless`.
std::string sum_of(std::string_view text, const std::vector<std::string>& variables = {}) {
    CostSum sum;
    while (!text.empty()) {
        CostFactor factor;
        const CostError error = take_factor(text, factor);
        if (error.why != nullptr) {
            return std::string(error.why) + ": " + std::string(error.rest);
        }
        const std::string written(factor.text);
        sum.add(written[0] == '$' ? variables.at(static_cast<std::size_t>(written[1] - '1')) : written,
                factor.divisor);
    }
    std::int64_t cost = -1;
    switch (sum.read(cost)) {
        case CostReading::number:
            return std::to_string(cost);
        case CostReading::empty:
            return "empty";
        case CostReading::senseless:
            break;
    }
    return "senseless";
}

TEST(CostSum, AddsProducts) {
    for (const auto& [text, expected] : {std::pair{"7", "7"},
                                         {"2+3", "5"},
                                         {"2*3+4*5", "26"},
                                         {"2+3*4", "14"},
                                         {"7/2", "4"},
                                         {"2*7/4+1", "5"},
                                         {"1+8/4", "3"},
                                         {"0*9+0/5", "0"},
                                         {"000000000000000000000012*2", "24"},
                                         {"1000000000000*1000000/1000000", "1000000000000"}}) {
        EXPECT_EQ(sum_of(text), expected) << text;
    }
}

TEST(CostSum, FactorsAreDigitsAlone) {
    EXPECT_EQ(sum_of("$1*3+$2*15", {"100", "20"}), "600");
    EXPECT_EQ(sum_of("$1/4+$2", {"1025", "64"}), "321");
    for (const char* text : {"0*0", "1+1", "-1", " 1", "1.0", "x", "1/2", "99999999999999999999"}) {
        EXPECT_EQ(sum_of("$1", {text}), "senseless") << text;
        EXPECT_EQ(sum_of("$1*0+5", {text}), "senseless") << text;
    }
}

TEST(CostSum, AnEmptyFactorMakesItEmpty) {
    EXPECT_EQ(sum_of("$1*3+5", {""}), "empty");
    EXPECT_EQ(sum_of("$1*0", {""}), "empty");
    EXPECT_EQ(sum_of("5+$1", {""}), "empty");
    EXPECT_EQ(sum_of("$1+$2", {"x", ""}), "empty") << "whatever the others are";
}

TEST(CostSum, AboveTheMostIsSenseless) {
    EXPECT_EQ(sum_of("1000000000000"), "1000000000000");
    EXPECT_EQ(sum_of("999999999999+1"), "1000000000000");
    for (const char* text :
         {"1000000000001", "1000000000000+1", "1000000*1000001", "999999999999999999*999999999999999999",
          "999999999999999999*999999999999999999*999999999999999999/1000000000000",
          "999999999999999999*9+999999999999999999*9", "4294967296*4294967296"}) {
        EXPECT_EQ(sum_of(text), "senseless") << text;
    }
    EXPECT_EQ(sum_of("999999999999999999*999999999999999999*0+1"), "1") << "nothing times anything";
    EXPECT_EQ(sum_of("0*999999999999999999*999999999999999999+1"), "1");
}

TEST(CostSum, SaysWhereATextGoesWrong) {
    const std::string missing = "a number or a variable is missing ";
    const std::string divisor =
        "a whole number from 1 to 1000000000000 follows \"/\", and then \"+\" or nothing: ";
    const std::string other = "it takes digits, variables, \"+\", \"*\" and \"/\", and no spaces: ";
    for (const auto& [text, expected] : {std::pair{std::string("$a*+3"), missing + "before this: +3"},
                                         {"*3", missing + "before this: *3"},
                                         {"", missing + "before this: "},
                                         {"$a++3", missing + "before this: +3"},
                                         {"$a+", missing + "after this: +"},
                                         {"$a*", missing + "after this: *"},
                                         {"2/4+", missing + "after this: +"},
                                         {"$a/", divisor + "/"},
                                         {"$a/0", divisor + "/0"},
                                         {"$a/$b", divisor + "/$b"},
                                         {"$a/2*3", divisor + "/2*3"},
                                         {"$a/2/3", divisor + "/2/3"},
                                         {"$a/1000000000001", divisor + "/1000000000001"},
                                         {"$a/9999999999999999999999", divisor + "/9999999999999999999999"},
                                         {"$a * 3", other + " * 3"},
                                         {"$a-1", other + "-1"},
                                         {"${a}x$b+2", other + "x$b+2"},
                                         {"1e3", other + "e3"},
                                         {"(1+2)", other + "(1+2)"}}) {
        std::size_t count = 0;
        const CostError error = count_factors(text, count);
        ASSERT_NE(error.why, nullptr) << text;
        EXPECT_EQ(std::string(error.why) + ": " + std::string(error.rest), expected) << text;
    }
}

TEST(CostSum, CountsFactors) {
    for (const auto& [text, expected] :
         {std::pair{"7", std::size_t{1}}, {"$c$2", 1}, {"$a/4", 1}, {"1$a*${b}2+$c/3", 3}}) {
        std::size_t count = 0;
        EXPECT_EQ(count_factors(text, count).why, nullptr) << text;
        EXPECT_EQ(count, expected) << text;
    }
}

/// A random sum, as a text and as what its factors are.
class RandomSum {
public:
    explicit RandomSum(std::uint32_t seed) : random_(seed) {
        const int terms = below(4) + 1;
        for (int i = 0; i < terms; ++i) {
            add_term(i == 0);
        }
    }

    const std::string& text() const { return text_; }
    const std::vector<std::string>& variables() const { return variables_; }

    /// By plain reckoning in long numbers.
    std::string expected() const {
        if (empty_) {
            return "empty";
        }
        const bool sound = !senseless_ && sum_ <= static_cast<unsigned __int128>(max_cost);
        return sound ? std::to_string(static_cast<std::uint64_t>(sum_)) : "senseless";
    }

private:
    using Long = unsigned __int128;
    static constexpr Long huge = Long{1} << 63;

    int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

    std::string number() {
        std::string digits = std::to_string(below(10));
        const int most = below(8) == 0 ? 18 : 5;
        for (int more = below(most); more > 0; --more) {
            digits += static_cast<char>('0' + below(10));
        }
        return digits;
    }

    void add_term(bool first) {
        text_ += first ? "" : "+";
        Long product = 1;
        bool beyond = false;
        const int factors = below(4) + 1;
        for (int i = 0; i < factors; ++i) {
            text_ += i == 0 ? "" : "*";
            const Long factor = add_factor();
            beyond = factor != 0 && (beyond || product * factor >= huge);
            product = factor == 0 ? 0 : beyond ? 1 : product * factor;
        }
        Long divisor = 1;
        if (below(3) == 0) {
            divisor = static_cast<Long>(below(999) + 1);
            text_ += "/" + std::to_string(static_cast<std::uint64_t>(divisor));
        }
        senseless_ = senseless_ || beyond;
        sum_ += (product + divisor - 1) / divisor;
    }

    Long add_factor() {
        static constexpr const char* odd[] = {"", "x", "-1", "0*0", "1+1", " 1", "9999999999999999999"};
        std::string value = number();
        if (below(2) == 0 || variables_.size() == 9) {
            text_ += value;
            return std::stoull(value);
        }
        const bool is_odd = below(20) == 0;
        value = is_odd ? odd[below(7)] : value;
        variables_.push_back(value);
        text_ += "$" + std::to_string(variables_.size());
        empty_ = empty_ || value.empty();
        senseless_ = senseless_ || (is_odd && !value.empty());
        return is_odd ? 1 : std::stoull(value);
    }

    std::mt19937 random_;
    std::string text_;
    std::vector<std::string> variables_;
    Long sum_ = 0;
    bool empty_ = false;
    bool senseless_ = false;
};

TEST(CostSum, ComesOutAsPlainReckoningDoes) {
    for (std::uint32_t seed = 0; seed < 50'000; ++seed) {
        const RandomSum random(seed);
        ASSERT_EQ(sum_of(random.text(), random.variables()), random.expected())
            << random.text() << ", seed " << seed;
    }
}

}  // namespace
}  // namespace rate_limit::cost_sum_test
