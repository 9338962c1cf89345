#include "core/machine/records.h"

#include <gtest/gtest.h>

namespace rate_limit::record_test {
namespace {

template <typename Kind>
class RecordOf : public testing::Test {};
using Kinds =
    testing::Types<WindowRecord, BucketRecord, SlotsRecord, ShareRecord, ReadingRecord, ConfirmedRecord>;
TYPED_TEST_SUITE(RecordOf, Kinds);

template <typename Kind>
Kind open_until(Millis reset) {
    Kind record;
    record.id = {1, 2};
    record.reset = reset;
    return record;
}

TYPED_TEST(RecordOf, SaysItsKindWhereARecordHasIt) {
    const Record record = TypeParam{};
    EXPECT_EQ(record.kind, TypeParam{}.kind);
}

TYPED_TEST(RecordOf, IsItselfAgain) {
    const auto record = open_until<TypeParam>(5);
    EXPECT_EQ(Record{record}.template as<TypeParam>(), record);
}

TYPED_TEST(RecordOf, IsANewOneWhereTheIdHasAnotherKind) {
    const bool of_windows = TypeParam{}.kind == RecordKind::window;
    const Record other =
        of_windows ? Record{open_until<BucketRecord>(5)} : Record{open_until<WindowRecord>(5)};
    EXPECT_EQ(other.as<TypeParam>(), open_until<TypeParam>(0));
}

TYPED_TEST(RecordOf, IsANewOneWhereTheRecordHasNoWindow) {
    Record none;
    none.id = {1, 2};
    EXPECT_EQ(none.as<TypeParam>(), open_until<TypeParam>(0));
}

TYPED_TEST(RecordOf, EndsAtItsReset) {
    const Record record = open_until<TypeParam>(5);
    EXPECT_NE(eviction_rank(record, 4).tier, EvictionTier::ended);
    EXPECT_EQ(eviction_rank(record, 5).tier, EvictionTier::ended);
}

TEST(ShareRecord, IsNotForgottenWhileRequestsRun) {
    auto share = open_until<ShareRecord>(pinned);
    EXPECT_EQ(eviction_rank(share, 1).tier, EvictionTier::copy);
    share.running = 1;
    EXPECT_EQ(eviction_rank(share, 1).tier, EvictionTier::never);
}

}  // namespace
}  // namespace rate_limit::record_test
