// Whatever numbers a store holds, the text of the headers fits into the room promised for it, and the numbers
// that it shows make sense.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <fuzzer/FuzzedDataProvider.h>

#include "core/limit/quota.h"
#include "require.h"

namespace rate_limit {
namespace {

constexpr std::int64_t max_number = INT64_MAX;
constexpr Millis latest_now = 4'102'444'800'000;  // the year 2100
constexpr std::size_t max_name = 32;

/// A number as headers show it: digits only.
bool shows(std::string_view text, std::int64_t number) {
    return number >= 0 && text == std::to_string(number);
}

std::string name_of(FuzzedDataProvider& data) {
    constexpr std::string_view allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";
    std::string name(data.ConsumeIntegralInRange<std::size_t>(1, max_name), 'a');
    for (char& c : name) {
        c = allowed[data.ConsumeIntegralInRange<std::size_t>(0, allowed.size() - 1)];
    }
    return name;
}

void check_quota(const Quota& quota, const Verdict& verdict, std::int64_t cost, Millis now) {
    require(quota.limit == verdict.rate.limit);
    require(quota.period == (verdict.rate.month ? 0 : verdict.rate.period));
    require(quota.used >= 0 && quota.reset >= 0 && quota.until >= 0);
    require(quota.remaining >= 0 && quota.remaining <= quota.limit);
    require(quota.retry == (verdict.outcome == Outcome::rejected && !verdict.never_fits));
    const bool spent = verdict.outcome == Outcome::rejected || verdict.outcome == Outcome::rejected_dry_run;
    if (spent && !verdict.never_fits) {
        require(quota.remaining == 0);
    } else {
        require(quota.remaining == std::max<std::int64_t>(0, quota.limit - quota.used));
    }
    if (verdict.bucket) {
        require(quota.used == quota.limit - quota.remaining);
    } else {
        require(quota.used >= verdict.window.used && quota.used >= cost);
    }
    const bool is_full_now = verdict.bucket && !spent && verdict.window.used == 0 && cost == 0;
    const Millis reset = is_full_now ? now : verdict.window.reset;
    require(quota.reset >= reset / 1000 && quota.reset - reset / 1000 <= 1);
    const bool full = spent && !verdict.never_fits;
    require((quota.until > 0) == (reset > now || full || verdict.in_flight != 0));
    require(verdict.in_flight == 0 || quota.until == 1);
}

void check_fields(const Quota& quota) {
    // Written to blocks of exactly the promised sizes, so that the sanitizer sees a byte too many.
    const auto text = std::make_unique<char[]>(max_github_text);
    const auto seconds = std::make_unique<char[]>(max_retry_after);
    const auto fields = std::make_unique<Field[]>(github_fields);
    require(put_github_fields(fields.get(), quota, text.get()) == fields.get() + github_fields);
    for (std::size_t i = 0; i < github_fields; ++i) {
        require(!fields[i].value.empty());
    }
    require(shows(fields[0].value, quota.limit));
    require(shows(fields[1].value, quota.used));
    require(shows(fields[2].value, quota.remaining));
    require(shows(fields[3].value, quota.reset));
    require(fields[4].value == quota.name);
    require(shows(retry_after_field(quota, seconds.get()).value, quota.until));
    require(!quota.retry || quota.until > 0);
}

/// Appends the member to a block of exactly the promised size, so that the sanitizer sees a byte too many.
std::string member(char* (*append)(char*, const Quota&, bool), const Quota& quota, bool first) {
    const auto block = std::make_unique<char[]>(max_ietf_member);
    const char* end = append(block.get(), quota, first);
    return {block.get(), static_cast<std::size_t>(end - block.get())};
}

void check_members(const Quota& quota, bool first) {
    const std::string start = std::string(first ? "\"" : ", \"") + std::string(quota.name) + "\";";
    require(member(append_policy, quota, first) ==
            start + "q=" + std::to_string(quota.limit) +
                (quota.period != 0 ? ";w=" + std::to_string(quota.period) : ""));
    require(member(append_limit, quota, first) ==
            start + "r=" + std::to_string(quota.remaining) + ";t=" + std::to_string(quota.until));
}

}  // namespace
}  // namespace rate_limit

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    using namespace rate_limit;
    FuzzedDataProvider data(bytes, size);
    constexpr std::size_t most = 8;
    Verdict verdicts[most];
    std::string names[most];
    const auto count = data.ConsumeIntegralInRange<std::size_t>(1, most);
    const auto now = data.ConsumeIntegralInRange<Millis>(0, latest_now);
    for (std::size_t i = 0; i < count; ++i) {
        names[i] = name_of(data);
        verdicts[i].name = names[i];
        verdicts[i].rate.limit = data.ConsumeIntegralInRange<std::int64_t>(0, max_limit);
        verdicts[i].rate.period = data.ConsumeIntegralInRange<std::int64_t>(1, max_period);
        verdicts[i].rate.month = verdicts[i].rate.period % 31 == 0;
        verdicts[i].window.used = data.ConsumeIntegralInRange<std::int64_t>(0, max_number);
        verdicts[i].window.reset = data.ConsumeIntegralInRange<Millis>(0, max_number);
        verdicts[i].known = data.ConsumeBool();
        verdicts[i].outcome = static_cast<Outcome>(
            data.ConsumeIntegralInRange<unsigned>(0, static_cast<unsigned>(Outcome::bypassed)));
        verdicts[i].bucket = data.ConsumeBool();
        verdicts[i].in_flight =
            data.ConsumeBool() ? data.ConsumeIntegralInRange<std::int64_t>(1, max_limit) : 0;
        verdicts[i].due = data.ConsumeIntegralInRange<std::int64_t>(0, max_number);
        is_open(verdicts[i].window, verdicts[i].rate.period, now);

        const Quota quota = quota_of(verdicts[i], now);
        check_quota(quota, verdicts[i], verdicts[i].due, now);
        check_fields(quota);
        check_members(quota, i == 0);
    }

    const Outcome outcome = combine(verdicts, count);
    const VerdictIndex chosen = shown(verdicts, count);
    require(!chosen || *chosen < count);
    if (outcome == Outcome::rejected) {
        require(chosen && verdicts[*chosen].outcome == Outcome::rejected);
    }
    return 0;
}
