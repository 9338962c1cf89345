#include <algorithm>
#include <array>
#include <vector>

#include "core/limit/bucket.h"
#include "redis/script_reply.h"
#include "t/differential/choices.h"
#include "t/unit/raw_reply.h"

namespace rate_limit::world {
namespace {

constexpr std::array<Tokens, 9> buckets{{{100, 10},
                                         {1'000'000, 5},
                                         {1'000'000'000, 10},
                                         {333'333'334, 7},
                                         {94'672'800'000'000'000, 10},
                                         {94'672'800, 10'000'000'000},
                                         {123'456'789'012'345, 7000},
                                         {60'000'000'000, 1},
                                         {9'999'999'999, 1000}}};
constexpr std::size_t receipts_of_key = 6;

/// Receipts of what was taken lately, by key.
std::vector<BucketReceipt>& receipts(KeyId key) {
    static std::array<std::vector<BucketReceipt>, key_count> all;
    return all.at(static_cast<std::size_t>(key));
}

void keep(Both& both, KeyId key, const BucketReceipt& receipt) {
    std::vector<BucketReceipt>& kept = receipts(key);
    if (kept.size() < receipts_of_key) {
        kept.push_back(receipt);
    } else {
        kept[static_cast<std::size_t>(both.chance().below(receipts_of_key))] = receipt;
    }
}

BucketReceipt choose_receipt(Both& both, KeyId key) {
    Chance& chance = both.chance();
    const std::vector<BucketReceipt>& kept = receipts(key);
    if (kept.empty() || chance.percent(20)) {
        return {};
    }
    BucketReceipt receipt = chance.one_of(kept);
    if (chance.percent(20)) {
        receipt.at = 0;
    }
    if (chance.percent(20)) {
        receipt.mark += static_cast<std::uint64_t>(chance.between(-5'000'000'000, 5'000'000'000));
    }
    if (chance.below(50) == 0) {
        receipt.mark = chance.bits();
    }
    receipt.only_last = chance.percent(20);
    return receipt;
}

std::int64_t choose_want(Both& both, std::int64_t burst) {
    Chance& chance = both.chance();
    switch (chance.below(8)) {
        case 0:
            return 0;
        case 1:
            return chance.between(1, burst + 2);
        case 2:
            return -chance.between(1, burst + 2);
        case 3:
        case 4:
            return -chance.between(1, 4);
        default:
            return chance.between(1, 5);
    }
}

}  // namespace

Tokens tokens_of(Both& both, KeyId key) {
    const Tokens own = buckets[key % buckets.size()];
    if (both.chance().percent(10)) {
        return both.chance().one_of(buckets);
    }
    return both.chance().percent(20) ? Tokens{own.token, std::max<std::int64_t>(1, own.burst / 2)} : own;
}

void send_bucket(Both& both) {
    Chance& chance = both.chance();
    const KeyId key = both.choose(Kind::bucket);
    const Tokens tokens = tokens_of(both, key);
    Draw draw;
    draw.token = tokens.token;
    draw.fill = tokens.token * tokens.burst;
    draw.want = choose_want(both, tokens.burst);
    draw.least = draw.want > 0 && chance.percent(70) ? chance.between(0, draw.want) : 0;
    draw.parts = chance.percent(50) ? 1 : chance.between(0, 6);
    draw.receipt = draw.want < 0 ? choose_receipt(both, key) : BucketReceipt{};
    const Micros told = chance.percent(15) ? both.machine_clock() : 0;

    both.writer().tell_time(told);
    const std::string answer = both.send(key, both.writer().draw(Both::name(key), draw));
    both.writer().tell_time(0);
    const RawReply reply(answer);
    Told drawn;
    if (read_draw(*reply, draw, both.now(), drawn) == Fault::none && drawn.granted > 0) {
        keep(both, key, drawn.receipt);
    }
}

}  // namespace rate_limit::world
