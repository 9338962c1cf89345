#pragma once

#include <cstdint>
#include <string_view>

namespace rate_limit {

/// A cost as the configuration says it: a sum of products, `$in*3+$out*15`. Terms are joined by `+`, the
/// factors of a term by `*`, and at a term's end a whole number may follow after `/`. A factor is a text that
/// may hold variables, and is digits alone beside these: `$c$2` is one factor.

/// One factor of it.
struct CostFactor {
    std::string_view text;     ///< never empty
    std::int64_t divisor = 0;  ///< 0: another factor of the term follows; else the term ends, divided by this
};

/// Why a text is no such sum.
struct CostError {
    const char* why = nullptr;  ///< static text; null: it is one
    std::string_view rest{};    ///< the text from where it goes wrong on
};

/// Takes the next factor off `rest`, which is not empty.
CostError take_factor(std::string_view& rest, CostFactor& factor) noexcept;

/// How many factors the text has, 1 or more, goes into `count`. The variables' names in it are sound.
CostError count_factors(std::string_view text, std::size_t& count) noexcept;

/// The result of such a sum for a request.
enum class CostReading : std::uint8_t {
    number,
    empty,      ///< a factor is empty
    senseless,  ///< a factor is not digits alone, or the sum is above max_cost
};

/// Sums up a cost as its factors are evaluated, one after the other.
class CostSum {
public:
    /// A factor came out as `text`; `divisor` as in CostFactor, 1 for a term that nothing divides. False: it
    /// makes the whole senseless, unless another one is empty.
    bool add(std::string_view text, std::int64_t divisor) noexcept;

    /// The last term has ended. Writes to `cost` only where it returns `number`.
    CostReading read(std::int64_t& cost) const noexcept;

private:
    void multiply(std::int64_t factor) noexcept;
    void end_term(std::int64_t divisor) noexcept;

    std::int64_t sum_ = 0;
    std::int64_t product_ = 1;  // of the term's factors so far
    bool too_great_ = false;    // that product is
    bool empty_ = false;
    bool senseless_ = false;
};

}  // namespace rate_limit
