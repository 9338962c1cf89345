#pragma once

#include "core/machine/records/bucket_record.h"
#include "core/machine/records/confirmed.h"
#include "core/machine/records/penalty.h"
#include "core/machine/records/reading.h"
#include "core/machine/records/slots_record.h"
#include "core/machine/records/window_record.h"
#include "core/table/table.h"

namespace rate_limit {

/// The records that the table evicts first: those that have ended, then copies of what Redis knows, those
/// without tokens before those with tokens, then local windows. In each group the least used comes first.
/// Records that requests or answers still have to change, and local windows that are used up, are never
/// evicted.
EvictionRank eviction_rank(const Record& record, Millis now) noexcept;

using WindowTable = RecordTable<Record>;

extern template class RecordTable<Record>;

}  // namespace rate_limit
